import type { KeyRing } from './key-ring.ts';

/** Credentials for the server of a guardrail: tenant stores them, and chat sends them. */
export type GuardrailSecrets =
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'headers'; readonly headers: Readonly<Record<string, string>> };

/** Some are the owner's, without a tenant. */
interface GuardrailRow {
  id: string;
}

export function sealGuardrailSecrets(keyRing: KeyRing, row: GuardrailRow, secrets: GuardrailSecrets): Buffer {
  return keyRing.seal(Buffer.from(JSON.stringify(secrets)), contextOfGuardrailSecrets(row));
}

/** Throws if the key of the ring is gone, or the value belongs to another guardrail. */
export function openGuardrailSecrets(keyRing: KeyRing, row: GuardrailRow, sealed: Buffer): GuardrailSecrets {
  // `sealGuardrailSecrets` has written it.
  return JSON.parse(keyRing.open(sealed, contextOfGuardrailSecrets(row)).toString()) as GuardrailSecrets;
}

/** The context of the sealed credentials. */
export function contextOfGuardrailSecrets({ id }: GuardrailRow): string {
  return `tenant.guardrails/secrets/${id}`;
}
