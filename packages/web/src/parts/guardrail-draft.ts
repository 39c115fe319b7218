import type {
  ChangedCheck,
  CheckType,
  CheckView,
  NewCheck,
  PiiType,
  SecretType,
} from '@gatehouse/contract/guardrail-checks';
import type { GuardedText, GuardrailAction } from '@gatehouse/contract/guardrail-rules';
import type { Guardrail, OwnerGuardrail } from '@gatehouse/contract/guardrails';
import type { PlainAuth } from '@gatehouse/contract/plain-auth';
import type { RunSelect } from '@gatehouse/contract/run-select';
import { unreadable } from '../api/api-error.ts';
import { changesOf, textOrNull, trimmed } from '../format/changes.ts';
import { headersIn } from './header-lines.ts';

export type AnyGuardrail = Guardrail | OwnerGuardrail;

export const checkTypes: Readonly<Record<CheckType, string>> = {
  pii: 'personal data',
  secrets: 'credentials',
  patterns: 'patterns and words',
  moderation: 'moderation model',
  model: 'model with instructions',
  presidio: 'Presidio',
  webhook: 'server of your own',
};

export const actions: Readonly<Record<GuardrailAction, string>> = {
  block: 'block',
  mask: 'mask',
  substitute: 'substitute',
  flag: 'only record',
};

export const guarded: Readonly<Record<GuardedText, string>> = {
  system: 'system prompts and definitions of tools',
  user: 'the rest of requests',
  tool_result: 'results of tools',
  answer: 'answers',
  tool_call: 'arguments of tools',
};

export const piiTypes: Readonly<Record<PiiType, string>> = {
  ...{ email: 'e-mail addresses', phone: 'telephone numbers', credit_card: 'cards', iban: 'IBANs' },
  ...{ ip_address: 'IP addresses', us_ssn: 'US social security', vn_citizen_id: 'Vietnamese citizen IDs' },
};

export const secretTypes: Readonly<Record<SecretType, string>> = {
  ...{ api_key: 'API keys', private_key: 'private keys', jwt: 'JWTs' },
  ...{ connection_string: 'connection strings', assignment: 'random values of passwords' },
};

/** The fields of a check as text. */
export interface CheckDraft {
  type: CheckType;
  pii: readonly PiiType[];
  regions: readonly string[];
  secrets: readonly SecretType[];
  /** `NAME: REGEX`, one each. */
  patterns: readonly string[];
  words: readonly string[];
  model: string;
  /** `NAME: SCORE`, one each. */
  categories: readonly string[];
  instructions: string;
  labels: readonly string[];
  url: string;
  login: PlainAuth['type'];
  /** Empty where one is stored, which is never shown. */
  token: string;
  /** `Name: value`, one each; without a value where one is stored. */
  headers: readonly string[];
  entities: readonly string[];
  language: string;
  min_score: string;
  /** JSON. */
  params: string;
}

/** The fields as text. */
export interface GuardrailDraft extends CheckDraft, Record<keyof RunSelect, readonly string[]> {
  name: string;
  action: GuardrailAction;
  /** Empty for the default. */
  on: readonly GuardedText[];
  except: readonly string[];
  message: string;
  unreadable: 'allow' | 'block';
  on_error: '' | 'open' | 'closed';
  timeout_ms: string;
  /** `answer`, a number of characters, or empty for the default. */
  hold: string;
  /** Only of the owner; empty for all. */
  tenants: readonly string[];
}

const newCheck: CheckDraft = {
  ...{ type: 'pii', pii: ['email', 'phone', 'credit_card', 'iban'], regions: [] },
  secrets: ['api_key', 'private_key', 'jwt', 'connection_string'],
  ...{ patterns: [], words: [], model: '', categories: [], instructions: '', labels: [] },
  ...{ url: '', login: 'none', token: '', headers: [], entities: [], language: 'en', min_score: '0.5' },
  params: '{}',
};

export const newGuardrail: GuardrailDraft = {
  ...newCheck,
  ...{ name: '', action: 'block', on: [], except: [], message: '', unreadable: 'allow', on_error: '' },
  ...{ timeout_ms: '2000', hold: '', tenants: [] },
  ...{ users: [], groups: [], agents: [], api_keys: [], models: [] },
};

export function guardrailDraft(guardrail: AnyGuardrail): GuardrailDraft {
  const { name, action, on, except, message, on_error, timeout_ms, hold } = guardrail;
  return {
    ...newGuardrail,
    ...guardrail.select,
    ...checkDraft(guardrail.check),
    ...{ name, action, on, except, on_error, unreadable: guardrail.unreadable },
    ...{ message: message ?? '', timeout_ms: String(timeout_ms), hold: hold === null ? '' : String(hold) },
    tenants: ('tenants' in guardrail ? guardrail.tenants : null) ?? [],
  };
}

function checkDraft(check: CheckView): CheckDraft {
  const { type } = check;
  switch (type) {
    case 'pii':
      return { ...newCheck, type, pii: check.types, regions: check.regions };
    case 'secrets':
      return { ...newCheck, type, secrets: check.types };
    case 'patterns':
      return { ...newCheck, type, patterns: check.patterns.map(patternLine), words: check.words };
    case 'moderation': {
      const categories = Object.entries(check.categories).map(([name, score]) => `${name}: ${score}`);
      return { ...newCheck, type, model: check.model, categories };
    }
    case 'model':
      return { ...newCheck, ...check };
    case 'presidio': {
      const { url, entities, language, min_score: score } = check;
      return { ...newCheck, ...authDraft(check), type, url, entities, language, min_score: String(score) };
    }
    case 'webhook':
      return {
        ...{ ...newCheck, ...authDraft(check), type, url: check.url },
        params: JSON.stringify(check.params, null, 2),
      };
  }
}

/** A pattern without regard to case has it as a flag, as RE2 writes it. */
function patternLine({ name, regex, case_sensitive: isSensitive }: Pattern): string {
  return `${name}: ${isSensitive ? '' : '(?i)'}${regex}`;
}

type Pattern = Extract<CheckView, { type: 'patterns' }>['patterns'][number];

function authDraft({ auth }: Extract<CheckView, { url: string }>) {
  const headers = auth.type === 'headers' ? auth.headers.map(({ name }) => `${name}:`) : [];
  return { login: auth.type, headers };
}

/** The settings of a new guardrail. Throws an `ApiError`. */
export function newGuardrailBody(draft: GuardrailDraft, isOwner: boolean) {
  return { ...settingsOf(draft, isOwner), check: { ...checkOf(draft), ...authOf(draft) } as NewCheck };
}

/** The changed settings. Throws an `ApiError`. */
export function guardrailChanges(before: GuardrailDraft, after: GuardrailDraft, isOwner: boolean) {
  const check = changedCheck(before, after);
  return {
    ...changesOf(settingsOf(before, isOwner), settingsOf(after, isOwner)),
    ...(check !== null && { check }),
  };
}

function settingsOf(draft: GuardrailDraft, isOwner: boolean) {
  const { name, action, on, hold, unreadable: parts, on_error: onError, tenants } = draft;
  const { users, groups, agents, api_keys: keys, models } = draft;
  return {
    ...{ name, action, unreadable: parts, except: trimmed(draft.except), message: textOrNull(draft.message) },
    timeout_ms: Number(draft.timeout_ms),
    ...(on.length > 0 && { on: [...on] }),
    ...(onError !== '' && { on_error: onError }),
    ...(hold !== '' && { hold: heldOf(hold) }),
    select: {
      ...(!isOwner && { users: trimmed(users), groups: trimmed(groups) }),
      ...{ agents: trimmed(agents), api_keys: trimmed(keys), models: trimmed(models) },
    },
    ...(isOwner && { tenants: trimmed(tenants).length === 0 ? null : trimmed(tenants) }),
  };
}

function heldOf(text: string): 'answer' | number {
  if (text === 'answer') return text;
  if (!/^\d+$/.test(text)) throw unreadable('hold', 'Write answer, or a number of characters such as 400.');
  return Number(text);
}

/** Null without a change. Stored credentials stay where their fields are as before. */
function changedCheck(before: CheckDraft, after: CheckDraft): ChangedCheck | null {
  const auth = authFields(before) === authFields(after) ? {} : authOf(after);
  const changes = { ...changesOf(checkOf(before), checkOf(after)), ...auth };
  if (before.type !== after.type) return { ...checkOf(after), ...authOf(after) };
  return Object.keys(changes).length === 0 ? null : { type: after.type, ...changes };
}

function authFields({ login, token, headers }: CheckDraft): string {
  return JSON.stringify([login, login === 'bearer' && token, login === 'headers' && trimmed(headers)]);
}

/** The check without its credentials. */
function checkOf(draft: CheckDraft): { type: CheckType } & Record<string, unknown> {
  const { type, model, url } = draft;
  switch (type) {
    case 'pii':
      return { type, types: draft.pii, regions: trimmed(draft.regions) };
    case 'secrets':
      return { type, types: draft.secrets };
    case 'patterns':
      return {
        type,
        patterns: pairsIn(draft.patterns, 'patterns').map(patternOf),
        words: trimmed(draft.words),
      };
    case 'moderation': {
      const scores = pairsIn(draft.categories, 'categories').map(([name, text]) => [
        name,
        scoreOf(name, text),
      ]);
      return { type, model, categories: Object.fromEntries(scores) };
    }
    case 'model':
      return { type, model, instructions: draft.instructions, labels: trimmed(draft.labels) };
    case 'presidio': {
      const { entities, language, min_score: score } = draft;
      return { type, url, entities: trimmed(entities), language, min_score: Number(score) };
    }
    case 'webhook':
      return { type, url, params: paramsOf(draft.params) };
  }
}

function authOf({ type, login, token, headers }: CheckDraft): { auth?: PlainAuth } {
  if (type !== 'presidio' && type !== 'webhook') return {};
  if (login === 'bearer') return { auth: { type: login, token } };
  return {
    auth:
      login === 'headers'
        ? { type: login, headers: headersIn(headers, 'check.auth.headers') }
        : { type: login },
  };
}

/** `NAME: TEXT` of each line. */
function pairsIn(lines: readonly string[], member: string): [string, string][] {
  return trimmed(lines).map((line) => {
    const colon = line.indexOf(':');
    if (colon < 1) throw unreadable(`check.${member}`, `“${line}” has no name. Write NAME: and the rest.`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  });
}

function patternOf([name, regex]: [string, string]): Pattern {
  return { name, regex, case_sensitive: true };
}

function scoreOf(name: string, text: string): number {
  if (!/^(0|1|0?\.\d+|1\.0+)$/.test(text))
    throw unreadable('check.categories', `The score of ${name} must be 0 to 1.`);
  return Number(text);
}

function paramsOf(text: string): Record<string, unknown> {
  try {
    // The API checks its form.
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw unreadable('check.params', 'Write a JSON object, such as {"level": 2}.');
  }
}
