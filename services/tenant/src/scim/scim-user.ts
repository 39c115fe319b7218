import { userId as userIdShape } from '@gatehouse/contract/fields';
import type { AppError } from '@gatehouse/kit/errors';
import { isFields } from '@gatehouse/kit/fields';
import { foldedName, type ScimAttributes, type ScimEmail, type User } from '../users/user.ts';
import type { AttributePath, Condition } from './scim-filter.ts';
import { booleanOf, changesOf, listOf, textOf, wrong, type Operation } from './scim-values.ts';

/** A user as an identity provider sees it, and its changes. Other attributes are ignored. */
export interface ScimUser extends Omit<ScimAttributes, 'email'> {
  externalId: string | null;
  displayName: string | null;
  active: boolean;
}

/** Longer texts are refused, and further addresses. */
const maxText = 256;
const maxAddress = 320;
const maxEmails = 20;

/** The parts of `name`. */
export const nameParts: readonly string[] = [
  ...['formatted', 'familyName', 'givenName', 'middleName', 'honorificPrefix', 'honorificSuffix'],
];
const namePartOf = new Map(nameParts.map((part) => [part.toLowerCase(), part]));

const newUser: ScimUser = {
  ...{ userName: '', externalId: null, displayName: null, name: null, emails: [], active: true },
};

/** A stored user; null for one unknown to SCIM. */
export function scimUserOf({ scim, externalId, displayName, blockedBy }: User): ScimUser | null {
  if (scim === null) return null;
  const { userName, name, emails } = scim;
  return { userName, externalId, displayName, name, emails, active: !blockedBy.includes('scim') };
}

/** The members of a user with a column of JSON. */
export function attributesOf({ userName, name, emails }: ScimUser): ScimAttributes {
  const [first] = emails;
  const work = emails.find(({ type }) => type === 'work') ?? emails.find(({ primary }) => primary) ?? first;
  return { userName, name, emails, email: work === undefined ? null : work.value.toLowerCase() };
}

/**
 * The user of a POST or PUT. An absent `externalId` or `active` is as before: own apps of Okta leave them out. Throws a
 * 400.
 */
export function userFromBody(body: unknown, before: ScimUser | null): ScimUser {
  const base = { ...newUser, ...(before && { externalId: before.externalId, active: before.active }) };
  return patchedUser(base, changesOf('replace', body));
}

/** The user after a PATCH. Throws a 400. */
export function patchedUser(user: ScimUser, operations: readonly Operation[]): ScimUser {
  const patched = operations.reduce(withAttribute, user);
  // Requests name a user by these two, in a header.
  for (const name of ['userName', 'externalId'] as const) {
    const value = patched[name];
    if (value !== null && !userIdShape.safeParse(value).success)
      throw wrong(name, `${name} must be 1 to 255 printable ASCII characters.`);
  }
  return patched;
}

type Change = Pick<Operation, 'op' | 'value'>;

function withAttribute(user: ScimUser, { op, path, value }: Operation): ScimUser {
  const isGone = op === 'remove';
  const text = (name: string): string | null => (isGone ? null : textOf(value, name, maxText));
  switch (path.attribute) {
    case 'username':
      return { ...user, userName: text('userName') ?? '' };
    case 'externalid':
      return { ...user, externalId: text('externalId') };
    case 'displayname':
      return { ...user, displayName: text('displayName') };
    case 'active':
      return value === null ? user : { ...user, active: isGone || booleanOf(value, 'active') };
    case 'name':
      return { ...user, name: withName(user.name, path, { op, value }) };
    case 'emails':
      return { ...user, emails: withEmails(user.emails, path, { op, value }) };
    default:
      return user;
  }
}

function withName(before: ScimUser['name'], { sub }: AttributePath, { op, value }: Change): ScimUser['name'] {
  const isGone = op === 'remove' || value === null || value === '';
  if (sub === null && isGone) return null;
  const members = sub === null ? value : { [sub]: isGone ? null : value };
  if (!isFields(members)) throw wrong('name', 'name must be an object.');
  const name = new Map<string, string>(before === null ? [] : Object.entries(before));
  for (const [key, member] of Object.entries(members)) {
    const part = namePartOf.get(key.toLowerCase());
    if (part === undefined) continue;
    const text = textOf(member, `name.${part}`, maxText);
    if (text === null) name.delete(part);
    else name.set(part, text);
  }
  return name.size === 0 ? null : Object.fromEntries(name);
}

function withEmails(
  before: readonly ScimEmail[],
  { sub, where }: AttributePath,
  { op, value }: Change,
): readonly ScimEmail[] {
  const isOfList = where.length === 0 && sub === null;
  if (isOfList && op === 'replace') return joined([], listOf(value));
  if (isOfList && op === 'add') return joined(before, listOf(value));
  const isMatch = (email: ScimEmail): boolean => where.every((condition) => emailMatches(email, condition));
  const isGone = op === 'remove' || value === null || value === '';
  if (isGone && (sub === null || sub === 'value')) {
    const values = new Set(isOfList ? emailsOf(listOf(value)).map((email) => email.value) : []);
    return before.filter((email) => !isMatch(email) || (values.size > 0 && !values.has(email.value)));
  }
  const change = sub === null ? value : { [sub]: isGone ? null : value };
  if (before.some(isMatch))
    return before.map((email) => (isMatch(email) ? withMembers(email, change) : email));
  // A new one has the values by which it was sought, as Entra ID expects it.
  const sought = Object.fromEntries(where.map(({ attribute, value: wanted }) => [attribute, wanted]));
  const added = withMembers(withMembers({ value: '' }, sought), change);
  return added.value === '' ? before : joined(before, [added]);
}

/** The addresses with others added; a primary one is the only one. */
function joined(before: readonly ScimEmail[], values: readonly unknown[]): ScimEmail[] {
  if (values.length > maxEmails) throw tooManyEmails();
  const emails = [...before];
  for (const email of emailsOf(values)) {
    const others = emails.filter(({ value }) => foldedName(value) !== foldedName(email.value));
    const rest = email.primary === true ? others.map(({ primary: _, ...other }) => other) : others;
    emails.splice(0, emails.length, ...rest, email);
    if (emails.length > maxEmails) throw tooManyEmails();
  }
  return emails;
}

function tooManyEmails(): AppError {
  return wrong('emails', `A user has at most ${maxEmails} emails.`);
}

function emailsOf(values: readonly unknown[]): ScimEmail[] {
  return values
    .map((value) => withMembers({ value: '' }, isFields(value) ? value : { value }))
    .filter(({ value }) => value !== '');
}

function withMembers(email: ScimEmail, change: unknown): ScimEmail {
  const members = isFields(change) ? change : { value: change };
  const changed: ScimEmail = { ...email };
  for (const [key, member] of Object.entries(members)) {
    switch (key.toLowerCase()) {
      case 'value':
        changed.value = textOf(member, 'emails.value', maxAddress) ?? '';
        break;
      case 'primary':
        if (member === null) delete changed.primary;
        else changed.primary = booleanOf(member, 'emails.primary');
        break;
      case 'type':
        changed.type = (textOf(member, 'emails.type', maxText) ?? '').toLowerCase();
        break;
      case 'display':
        changed.display = textOf(member, 'emails.display', maxText) ?? '';
        break;
    }
  }
  if (changed.type === '') delete changed.type;
  if (changed.display === '') delete changed.display;
  return changed;
}

function emailMatches(
  email: ScimEmail,
  { attribute, value }: Pick<Condition, 'attribute' | 'value'>,
): boolean {
  const members: Readonly<Record<string, unknown>> = { primary: false, ...email };
  return isEqual(members[attribute], value);
}

/** Texts are equal in any case. */
function isEqual(one: unknown, other: unknown): boolean {
  const folded = (value: unknown): unknown => (typeof value === 'string' ? value.toLowerCase() : value);
  return folded(one) === folded(other);
}

/** Whether a user has the value of a condition that filters may have. */
export function userMatches(user: User, { attribute, sub, value, where }: Condition): boolean {
  const { scim, externalId, displayName, id } = user;
  if (scim === null) return false;
  if (attribute === 'emails')
    return scim.emails.some((email) =>
      [{ attribute: sub ?? 'value', value }, ...where].every((each) => emailMatches(email, each)),
    );
  const values: Readonly<Record<string, unknown>> = {
    ...{ id, username: scim.userName, externalid: externalId, displayname: displayName },
  };
  return isEqual(values[attribute], value);
}
