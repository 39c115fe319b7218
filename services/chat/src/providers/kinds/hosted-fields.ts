import { removeMembers, type Edit } from '@gatehouse/dialects/wire/json-edits';
import { elementsOf, named, objectMembers, type Member } from '@gatehouse/dialects/wire/json-members';
import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import { isFields, listOf } from '@gatehouse/kit/fields';
import { maxHintBytes, maxWalkedBytes, maxWalkedParts } from '../../bounds.ts';

/** A field of a request with messages that hosts refuse without its beta (`Extra inputs are not permitted`). */
export interface HostedField {
  /** Its place; `[]` stands for the elements of a list. */
  path: readonly string[];
  /** The betas by any of which it is taken; empty for a field that no host takes. */
  betas: readonly string[];
  /** The version of Claude from which it is taken without a beta, as facts of models have it. */
  general?: number;
  /** The JSON texts of the values that need the beta; absent for all. */
  values?: RegExp;
  /** Whether it decides the meaning of a response: the request is refused in place of being sent without it. */
  isDecisive?: true;
}

const toolOf = (type: RegExp, betas: readonly string[]): HostedField => ({
  path: ['tools', '[]', 'type'],
  ...{ betas, values: type, isDecisive: true },
});

const scope = ['prompt-caching-scope-2026-01-05'];
const scopeAt = (...path: string[]): HostedField => ({
  path: [...path, 'cache_control', 'scope'],
  betas: scope,
});

/** Taken by Bedrock and Vertex AI as tool search, by both names. */
const searchBetas = ['tool-search-tool-2025-10-19', 'advanced-tool-use-2025-11-20'];

/**
 * Read on 2026-11-29: https://platform.claude.com/docs/en/api/beta-headers, the betas of recorded requests of Claude Code,
 * https://github.com/anthropics/claude-code-action/issues/1005 (`output_config.effort`),
 * https://github.com/anthropics/claude-agent-sdk-python/issues/694 (`eager_input_streaming`). Read on
 * 2026-11-30: https://github.com/8monkey-ai/hebo-platform/issues/451 (tools of Anthropic's servers at Bedrock),
 * https://github.com/BerriAI/litellm/pull/16269 (`web_search` at Vertex AI).
 */
const fields: readonly HostedField[] = [
  {
    path: ['context_management'],
    betas: ['context-management-2025-06-27', 'compact-2026-01-12', 'compact-2026-09-04'],
  },
  { path: ['output_config', 'effort'], betas: ['effort-2025-11-24'], general: 406 },
  { path: ['output_config', 'task_budget'], betas: ['task-budgets-2026-03-13'] },
  { path: ['speed'], betas: ['fast-mode-2026-02-01'] },
  { path: ['safeguards'], betas: ['dangerous-tool-use-2026-09-03'] },
  {
    path: ['thinking', 'display'],
    betas: ['thinking-display-updates-2026-08-18'],
    values: /^"updates"$/,
  },
  { path: ['thinking', 'block_binding'], betas: ['thinking-binding-controls-2026-08-01'] },
  { path: ['tools', '[]', 'allowed_callers'], betas: [] },
  {
    path: ['tools', '[]', 'defer_loading'],
    betas: searchBetas,
  },
  { path: ['tools', '[]', 'eager_input_streaming'], betas: [] },
  { path: ['tools', '[]', 'input_examples'], betas: ['tool-examples-2025-10-29'] },
  {
    path: ['messages', '[]', 'output_config'],
    betas: ['per-turn-control-2026-07-01', 'mid-conversation-output-config-2026-07-01'],
  },
  scopeAt(),
  scopeAt('system', '[]'),
  scopeAt('tools', '[]'),
  scopeAt('messages', '[]', 'content', '[]'),
  scopeAt('messages', '[]', 'content', '[]', 'content', '[]'),
  { path: ['container'], betas: [], values: /^["{]/, isDecisive: true },
  { path: ['mcp_servers'], betas: [], values: /^\[\s*[^\s\]]/, isDecisive: true },
  toolOf(/^"(?:advisor_|code_execution_|mcp_toolset"|web_fetch_)/, []),
  toolOf(/^"tool_search_tool_/, searchBetas),
  toolOf(/^"web_search_/, ['web-search-2025-03-05']),
];

/** The name of a field in `x-gateway-ignored`; a cache hint has one name wherever it stands. */
export function nameOf({ path, betas }: HostedField): string {
  return betas === scope ? 'cache_control.scope' : path.filter((part) => part !== '[]').join('.');
}

/** The fields that words of an error mean by a place in them, like `tools.0.custom.eager_input_streaming`. */
export function fieldsAt(place: string): HostedField[] {
  const parts = place.split('.');
  return fields.filter(({ path, isDecisive }) => {
    let from = 0;
    const isNext = (name: string): boolean => (from = parts.indexOf(name, from) + 1) > 0;
    return isDecisive !== true && path.every((name) => name === '[]' || isNext(name));
  });
}

/** The table as a tree: members by name, and the elements of a list as `[]`. */
interface Branch {
  /** Those of one member, by its values. */
  fields: HostedField[];
  under: Map<string, Branch>;
}

function treeOf(some: readonly HostedField[]): Branch {
  const root: Branch = { fields: [], under: new Map() };
  for (const field of some) {
    let branch = root;
    for (const part of field.path) {
      const next: Branch = branch.under.get(part) ?? { fields: [], under: new Map() };
      branch.under.set(part, next);
      branch = next;
    }
    branch.fields.push(field);
  }
  return root;
}

const tree = treeOf(fields);
const treeWithoutMessages = treeOf(fields.filter(({ path }) => path[0] !== 'messages'));
const treeWithoutLists = treeOf(fields.filter(({ path }) => !path.includes('[]')));

/** An object in which fields stand, and the names to be taken out of it. */
interface FieldHolder {
  members: readonly Member[];
  /** Made with the first name. */
  cut: Set<string> | null;
  /** The object that holds it as a member; null in a list. */
  parent: FieldHolder | null;
  /** The name of this member, or its index. */
  name: string;
}

function cutFrom(holder: FieldHolder, name: string): void {
  holder.cut ??= new Set();
  holder.cut.add(name);
}

interface FieldPlace {
  field: HostedField;
  holder: FieldHolder;
  member: Member;
}

/** A decisive field, as its client has it. */
export interface DecisiveField {
  field: HostedField;
  param: string;
  /** The JSON text of its value, cut. */
  value: string;
}

interface Cut {
  fields: ReadonlySet<HostedField>;
  /** Members of the request. */
  names: readonly string[];
  /** Whether betas that begin so are missing. */
  lacks: (prefix: string) => boolean;
}

/** The fields of the table that stand in a request. */
export class HostedFields {
  readonly #body: Buffer;
  #places: FieldPlace[] = [];
  #holders: FieldHolder[] = [];
  /** Elements and members that may still be walked over; negative once there were more. */
  #partsLeft = maxWalkedParts;

  /** `members`: those of the request. */
  constructor(body: Buffer, members: readonly Member[]) {
    this.#body = body;
    // A list loses all of its hints or keeps them.
    for (const branch of treesFor(body, members)) {
      [this.#places, this.#holders, this.#partsLeft] = [[], [], maxWalkedParts];
      this.#see({ members, cut: null, parent: null, name: '' }, branch);
      if (this.#partsLeft >= 0) return;
    }
  }

  /** Hints. */
  get all(): HostedField[] {
    const hints = this.#places.map(({ field }) => field).filter(({ isDecisive }) => isDecisive !== true);
    return [...new Set(hints)];
  }

  get decisive(): DecisiveField[] {
    const places = this.#places.filter(({ field }) => field.isDecisive === true);
    return places.map(({ field, holder, member }) => ({
      field,
      param: field.path
        .map((part) => (part === '[]' ? `[${holder.name}]` : `.${part}`))
        .join('')
        .slice(1),
      value: this.#valueOf(member),
    }));
  }

  /**
   * Edits that take fields out, with objects of which nothing is left, and members of the request. Returns names of fields
   * of which a part is taken out.
   */
  cut({ fields, names, lacks }: Cut, edits: Edit[]): string[] {
    const inside: string[] = [];
    for (const { field, holder, member } of this.#places) {
      if (fields.has(field)) cutFrom(holder, member.name);
      else if (field.path[0] === 'context_management' && this.#cutEdits(holder, member, { lacks, edits }))
        inside.push(nameOf(field));
    }
    const [root] = this.#holders;
    if (root !== undefined) for (const name of names) cutFrom(root, name);
    for (const holder of this.#holders.toReversed()) {
      const isEmptied = holder.members.every(({ name }) => holder.cut?.has(name) === true);
      if (isEmptied && holder.parent !== null) cutFrom(holder.parent, holder.name);
    }
    for (const holder of this.#holders)
      if (holder.cut !== null && !isGone(holder)) removeMembers(holder.members, holder.cut, edits);
    return inside;
  }

  /** Compaction and clearing of context have betas of their own. Returns whether an edit lacks its beta. */
  #cutEdits(
    holder: FieldHolder,
    { name, valueStart, valueEnd }: Member,
    { lacks, edits }: Pick<Cut, 'lacks'> & { edits: Edit[] },
  ): boolean {
    const text = this.#body.toString('utf8', valueStart, Math.min(valueEnd, valueStart + maxHintBytes + 1));
    const value: unknown = text.length > maxHintBytes ? null : JSON.parse(text);
    if (!isFields(value)) return false;
    const all = listOf(value['edits']);
    const left = all.filter(
      (edit) =>
        !lacks(
          isFields(edit) && String(edit['type']).startsWith('compact') ? 'compact' : 'context-management',
        ),
    );
    if (left.length === all.length) return false;
    if (left.length === 0) cutFrom(holder, name);
    else edits.push({ at: valueStart, until: valueEnd, text: JSON.stringify({ ...value, edits: left }) });
    return true;
  }

  #see(holder: FieldHolder, { under }: Branch): void {
    this.#holders.push(holder);
    for (const [name, branch] of under)
      for (const member of named(holder.members, name)) {
        for (const field of branch.fields)
          if (field.values?.test(this.#valueOf(member)) ?? true) this.#places.push({ field, holder, member });
        if (branch.under.size > 0) this.#descend(member.valueStart, branch, { holder, name });
      }
  }

  #descend(from: number, branch: Branch, { holder, name }: { holder: FieldHolder; name: string }): void {
    const elements = branch.under.get('[]');
    if (this.#body[from] === openBrace) this.#seeObject(from, branch, { parent: holder, name });
    else if (this.#body[from] === openBracket && elements !== undefined) {
      let index = 0;
      for (const start of elementsOf(this.#body, from)) {
        this.#partsLeft -= 1;
        if (this.#partsLeft < 0) return;
        const at = { parent: null, name: String(index) };
        if (this.#body[start] === openBrace) this.#seeObject(start, elements, at);
        index += 1;
      }
    }
  }

  #seeObject(from: number, branch: Branch, at: Pick<FieldHolder, 'parent' | 'name'>): void {
    if (this.#partsLeft < 0) return;
    const members = objectMembers(this.#body, { from, max: this.#partsLeft });
    this.#partsLeft -= members.length;
    if (this.#partsLeft >= 0) this.#see({ members, cut: null, ...at }, branch);
  }

  #valueOf({ valueStart, valueEnd }: Member): string {
    return this.#body.toString('utf8', valueStart, Math.min(valueEnd, valueStart + 100));
  }
}

/** Whether an object above is taken out as a whole. */
function isGone({ parent, name }: FieldHolder): boolean {
  return parent !== null && (parent.cut?.has(name) === true || isGone(parent));
}

/** Trees to walk by, each if the one before took too long. */
function treesFor(body: Buffer, members: readonly Member[]): readonly Branch[] {
  const lists = members.filter(({ name }) => name === 'tools' || name === 'system');
  const bytes = lists.reduce((sum, { valueStart, valueEnd }) => sum + valueEnd - valueStart, 0);
  if (bytes > maxWalkedBytes) return [treeWithoutLists];
  return [...(walksMessages(body) ? [tree] : []), treeWithoutMessages, treeWithoutLists];
}

/** A walk through all messages is long, and fields there are seldom. */
function walksMessages(body: Buffer): boolean {
  if (body.length > maxWalkedBytes) return false;
  const config = '"output_config"';
  return body.includes('"scope"') || body.indexOf(config) !== body.lastIndexOf(config);
}
