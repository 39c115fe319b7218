import { isDeepStrictEqual } from 'node:util';
import {
  newCheck,
  type ChangedCheck,
  type CheckView,
  type NewCheck,
} from '@gatehouse/contract/guardrail-checks';
import {
  defaultBehaviour,
  guardedTexts,
  maxExceptBytes,
  maxGuardrailBytes,
  refusalOf,
  type Behaviour,
} from '@gatehouse/contract/guardrail-rules';
import type {
  CreateGuardrail,
  CreateOwnerGuardrail,
  GuardrailDefinition,
  PatchGuardrail,
  PatchOwnerGuardrail,
} from '@gatehouse/contract/guardrails';
import type { PlainAuth, PlainAuthView } from '@gatehouse/contract/plain-auth';
import { invalidValue } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import { validate } from '@gatehouse/kit/validate';
import type { GuardrailSecrets } from '@gatehouse/secrets/guardrail-secrets';
import { z } from 'zod';
import { selectionOf, type Selection } from '../policies/selection.ts';
import { maxGuardrailSecretBytes } from '../bounds.ts';

/** The settings of a guardrail for its administrators. */
export interface GuardrailSettings {
  name: string;
  selection: Selection;
  definition: GuardrailDefinition;
  enabled: boolean;
  /** For a guardrail of the owner: the tenants for which it holds; null for all. Null for one of a tenant. */
  tenants: readonly string[] | null;
}

export interface Guardrail extends GuardrailSettings {
  id: string;
  /** Null for a guardrail of the owner. */
  tenantId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

/** Settings with the credentials beside them: new ones, none, or those stored. */
export interface WrittenGuardrail {
  settings: GuardrailSettings;
  secrets: GuardrailSecrets | 'unchanged' | null;
}

/** The settings of a new guardrail. Throws `invalid_value`. */
export function newGuardrail(body: CreateGuardrail | CreateOwnerGuardrail): WrittenGuardrail {
  const { name, select, enabled, ...definition } = body;
  const { check, secrets } = splitCheck(body.check);
  const defaults = defaultBehaviour({ check, action: body.action });
  return checked({
    settings: {
      ...{ name, enabled, tenants: 'tenants' in body ? body.tenants : null },
      selection: selectionOf(select),
      definition: {
        ...{ action: definition.action, except: definition.except, message: definition.message },
        ...{ unreadable: definition.unreadable, timeout_ms: definition.timeout_ms, check },
        on: inOrder(body.on ?? defaults.on),
        on_error: body.on_error ?? defaults.on_error,
        hold: body.hold ?? defaults.hold,
      },
    },
    secrets,
  });
}

/** The settings after a change. Throws `invalid_value`, and `missing_required_parameter`. */
export function changedGuardrail(
  current: GuardrailSettings,
  body: PatchGuardrail | PatchOwnerGuardrail,
): WrittenGuardrail {
  const { definition, selection } = current;
  const { check, secrets } = patchedCheck(definition.check, body.check);
  const action = body.action ?? definition.action;
  const [before, after] = [defaultBehaviour(definition), defaultBehaviour({ check, action })];
  /** A member with its default has the default of the other check or action. */
  const following = <Name extends keyof typeof after>(name: Name): (typeof after)[Name] =>
    isDeepStrictEqual(definition[name], before[name]) ? after[name] : definition[name];
  const tenants = 'tenants' in body ? body.tenants : undefined;
  return checked({
    settings: {
      name: body.name ?? current.name,
      enabled: body.enabled ?? current.enabled,
      tenants: tenants === undefined ? current.tenants : tenants,
      selection: selectionOf({ ...selection, ...body.select }),
      definition: {
        ...{ check, action },
        except: body.except ?? definition.except,
        message: body.message === undefined ? definition.message : body.message,
        unreadable: body.unreadable ?? definition.unreadable,
        timeout_ms: body.timeout_ms ?? definition.timeout_ms,
        on: inOrder(body.on ?? following('on')),
        on_error: body.on_error ?? following('on_error'),
        hold: body.hold === undefined ? following('hold') : (body.hold ?? after.hold),
      },
    },
    secrets,
  });
}

/** A check as it is stored, and its credentials apart. */
function splitCheck(check: NewCheck): { check: CheckView; secrets: GuardrailSecrets | null } {
  if (!('url' in check)) return { check, secrets: null };
  const { auth } = check;
  return { check: withAuth(check, shownAuth(auth)), secrets: auth.type === 'none' ? null : auth };
}

/** A check after a change. Throws `missing_required_parameter` for one of another type that lacks a member. */
function patchedCheck(
  current: CheckView,
  sent: ChangedCheck | undefined,
): { check: CheckView; secrets: WrittenGuardrail['secrets'] } {
  if (sent === undefined) return { check: current, secrets: 'unchanged' };
  const isSame = sent.type === current.type;
  const whole = { ...(isSame && current), ...sent };
  const sentAuth = 'auth' in sent ? sent.auth : undefined;
  const { auth: _, ...others } = { auth: undefined, ...whole };
  const { check: next } = validate(
    z.object({ check: newCheck }),
    { check: { ...others, ...(sentAuth !== undefined && { auth: sentAuth }) } },
    'body',
  );
  const { check, secrets } = splitCheck(next);
  if (!isSame || sentAuth !== undefined || !('url' in current) || !('url' in check))
    return { check, secrets };
  if (current.auth.type !== 'none' && URL.parse(current.url)?.origin !== URL.parse(check.url)?.origin)
    throw invalidValue('check.auth', 'must be sent again for another host');
  return { check: withAuth(check, current.auth), secrets: 'unchanged' };
}

function withAuth(check: WithAuth<NewCheck> | WithAuth<CheckView>, auth: PlainAuthView): CheckView {
  return check.type === 'presidio' ? { ...check, auth } : { ...check, auth };
}

type WithAuth<Check> = Extract<Check, { url: string }>;

function shownAuth(auth: PlainAuth): PlainAuthView {
  switch (auth.type) {
    case 'none':
      return auth;
    case 'bearer':
      return { type: auth.type, token_set: true };
    case 'headers':
      return { type: auth.type, headers: Object.keys(auth.headers).map((name) => ({ name, set: true })) };
  }
}

function checked(written: WrittenGuardrail): WrittenGuardrail {
  const { settings, secrets } = written;
  const { name, definition } = settings;
  if (isUuid(name)) throw invalidValue('name', 'must not have the form of an id');
  const refusal = refusalOf(definition);
  if (refusal !== null) throw invalidValue(refusal.param, refusal.reason);
  if (bytesOf(definition.except) > maxExceptBytes)
    throw invalidValue('except', `must have at most ${maxExceptBytes} bytes`);
  if (bytesOf(definition) > maxGuardrailBytes)
    throw invalidValue('check', `the guardrail must have at most ${maxGuardrailBytes} bytes`);
  if (bytesOf(secrets) > maxGuardrailSecretBytes)
    throw invalidValue('check.auth', `must have at most ${maxGuardrailSecretBytes} bytes`);
  return written;
}

function inOrder(on: Behaviour['on']): GuardrailDefinition['on'] {
  return guardedTexts.filter((text) => on.includes(text));
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
