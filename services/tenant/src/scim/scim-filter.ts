import { AppError } from '@gatehouse/kit/errors';

/** Filters and attribute paths of SCIM (RFC 7644, section 3.4.2.2 and figure 7), as far as identity providers use them. */

/** A comparison by `eq`. Names of attributes are in lower case. */
export interface Condition {
  attribute: string;
  sub: string | null;
  /** Conditions on the same element of a list: `[type eq "work"]`. */
  where: readonly Condition[];
  value: string | number | boolean | null;
}

/** The path of an operation; `attribute` is null for an unknown schema. */
export interface AttributePath {
  attribute: string | null;
  sub: string | null;
  where: readonly Condition[];
}

/** Longer paths are refused, and deeper filters. */
const maxPath = 2_000;
const maxDepth = 8;

const blank = /[ \t]*/y;
const attributeName = /[a-z$][\w$:.-]*/iy;
const text = /"(?:[^"\\]|\\.)*"/y;
const literal = /(?:true|false|null|-?\d{1,15}(?:\.\d{1,15})?)(?![\w.])/iy;
const equals = /eq(?=[ \t"])/iy;
const conjunction = /and(?=[ \t(])/iy;
const subAttribute = /\.[a-z$][\w$-]*/iy;
const coreSchema = /^urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):/i;
const storedAttribute =
  /^(?:urn:ietf:params:scim:schemas:core:2\.0:(?:user|group):)?(?:userName|externalId|displayName|active|name|emails|members)(?=$|[.[])/i;

/** Parses a filter: `eq` comparisons joined by `and`. Throws a 400 for all else. */
export function parseFilter(filter: string): Condition[] {
  const reader = new FilterReader(filter, 'filter');
  const conditions = reader.conditions();
  reader.end();
  return conditions;
}

/** Parses the path of an operation. Throws a 400. */
export function parsePath(path: string): AttributePath {
  if (path.length > maxPath) throw new AppError('invalid_value', 'A path is too long.', { param: 'path' });
  const reader = new FilterReader(path, 'path');
  const parsed = reader.path();
  reader.end();
  return parsed;
}

/** The path that is the name of a member of a value; null for an attribute without a column. Throws a 400. */
export function parseName(name: string): AttributePath | null {
  return storedAttribute.test(name) ? parsePath(name) : null;
}

/** Attribute and sub-attribute of a name, without the schema of users and groups; null for another schema. */
export function namedAttribute(name: string): { attribute: string; sub: string | null } | null {
  const bare = name.replace(coreSchema, '');
  if (bare.includes(':')) return null;
  const [attribute = '', sub = null] = bare.toLowerCase().split('.');
  return { attribute, sub };
}

class FilterReader {
  readonly #source: string;
  readonly #param: string;
  #at = 0;
  #depth = 0;

  constructor(source: string, param: string) {
    this.#source = source;
    this.#param = param;
  }

  conditions(): Condition[] {
    const conditions: Condition[] = [];
    this.#depth += 1;
    if (this.#depth > maxDepth) throw this.#wrong();
    do {
      if (this.#takes('(')) {
        conditions.push(...this.conditions());
        if (!this.#takes(')')) throw this.#wrong();
      } else conditions.push(...this.#condition());
    } while (this.#match(conjunction) !== null);
    this.#depth -= 1;
    return conditions;
  }

  path(): AttributePath {
    const named = namedAttribute(this.#match(attributeName) ?? this.#fail());
    if (named === null) {
      this.#at = this.#source.length;
      return { attribute: null, sub: null, where: [] };
    }
    const where = this.#where();
    return { ...named, where, sub: this.#match(subAttribute)?.slice(1).toLowerCase() ?? named.sub };
  }

  end(): void {
    this.#match(blank);
    if (this.#at < this.#source.length) throw this.#wrong();
  }

  #condition(): Condition[] {
    const { attribute, sub, where } = this.path();
    if (attribute === null) throw this.#wrong();
    // `members[value eq "x"]` is the same as `members.value eq "x"`.
    if (this.#match(equals) === null) {
      const [only, ...others] = where;
      if (only === undefined || others.length > 0 || sub !== null) throw this.#wrong();
      return [{ attribute, sub: only.attribute, where: [], value: only.value }];
    }
    return [{ attribute, sub, where, value: this.#value() }];
  }

  #where(): Condition[] {
    if (!this.#takes('[')) return [];
    const where = this.conditions();
    if (!this.#takes(']')) throw this.#wrong();
    return where;
  }

  #value(): Condition['value'] {
    const quoted = this.#match(text);
    const source = quoted ?? this.#match(literal)?.toLowerCase() ?? this.#fail();
    try {
      return JSON.parse(source) as Condition['value'];
    } catch {
      throw this.#wrong();
    }
  }

  #takes(char: string): boolean {
    this.#skip();
    if (this.#source[this.#at] !== char) return false;
    this.#at += 1;
    return true;
  }

  #match(pattern: RegExp): string | null {
    if (pattern !== subAttribute) this.#skip();
    pattern.lastIndex = this.#at;
    const [match] = pattern.exec(this.#source) ?? [];
    if (match === undefined) return null;
    this.#at += match.length;
    return match;
  }

  #skip(): void {
    blank.lastIndex = this.#at;
    this.#at += blank.exec(this.#source)?.[0].length ?? 0;
  }

  #fail(): never {
    throw this.#wrong();
  }

  #wrong(): AppError {
    const takes = this.#param === 'filter' ? ' Filters may have eq and and.' : '';
    return new AppError(
      'invalid_value',
      `The ${this.#param} is invalid at character ${this.#at + 1}.${takes}`,
      {
        param: this.#param,
      },
    );
  }
}
