import type { WebhookEndpoint, WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import type { IncomingMessage } from 'node:http';
import { maxSignatures } from '../bounds.ts';

/** Signatures of a request, what they must be signatures of, and when it was signed. */
export interface SignatureClaim {
  /** Decoded. */
  signatures: readonly Buffer[];
  /** The signed bytes. */
  signed: readonly (string | Buffer)[];
  /** Unix seconds; null for schemes without a time. */
  timestamp: number | null;
  /** The id of the request, if the scheme has one. */
  id: string | null;
  /** Whether the id is part of what is signed. */
  idIsSigned: boolean;
}

/** The scheme of requests, with the settings of `hmac`. */
export interface Signing extends Partial<Pick<WebhookEndpoint, 'header' | 'encoding' | 'prefix'>> {
  scheme: Exclude<WebhookScheme, 'token'>;
}

interface Scheme {
  /** Whether senders make their own secrets, and the tenant must provide one. */
  takesSecret: boolean;
  /** The key of the HMAC. Throws for a malformed secret. */
  keyOf: (secret: string) => Buffer;
  /** Null if a header is missing, doubled or malformed. */
  read: (request: VerifiableRequest, signing: Signing) => SignatureClaim | null;
}

const utf8Key = (secret: string): Buffer => Buffer.from(secret);

/** A base64 secret behind `whsec_`. */
export function standardKey(secret: string): Buffer {
  const [, encoded] =
    /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/.exec(secret) ?? [];
  const key = Buffer.from(encoded ?? '', 'base64');
  if (key.length < 24 || key.length > 64) throw new Error('not a secret of Standard Webhooks');
  return key;
}

/** Whether a text may be the id of a request: printable ASCII, as senders make them. */
function isId(text: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(text);
}

/** The value of a header sent once. */
function single(request: VerifiableRequest, name: string): string | null {
  const values = request.header(name);
  return values.length === 1 ? (values[0] ?? null) : null;
}

function hex(text: string | undefined): Buffer | null {
  return text !== undefined && /^[0-9a-f]{64}$/.test(text) ? Buffer.from(text, 'hex') : null;
}

function base64(text: string | undefined): Buffer | null {
  return text !== undefined && /^[A-Za-z0-9+/]{43}=$/.test(text) ? Buffer.from(text, 'base64') : null;
}

function seconds(text: string | undefined | null): number | null {
  return typeof text === 'string' && /^[1-9]\d{0,11}$/.test(text) ? Number(text) : null;
}

/** The signatures of a header, without their common prefix; others in the header don't count. */
function listed(text: string | null, separator: ',' | ' ', prefix: string): string[] {
  const parts = (text ?? '').split(separator).map((part) => part.trim());
  return parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length));
}

/** Null without a readable signature, and for too many. */
function claimOf(
  signatures: readonly (Buffer | null)[],
  signed: SignatureClaim['signed'],
  others: Partial<SignatureClaim> = {},
): SignatureClaim | null {
  const decoded = signatures.filter((signature) => signature !== null);
  if (decoded.length === 0 || decoded.length > maxSignatures) return null;
  return { signatures: decoded, signed, timestamp: null, id: null, idIsSigned: false, ...others };
}

/** HMAC-SHA256 of the body alone, in hexadecimal digits after a prefix. */
const bodyScheme = (
  name: string,
  { prefix = '', id = null }: { prefix?: string; id?: string | null } = {},
): Scheme => ({
  takesSecret: false,
  keyOf: utf8Key,
  read: (request) => {
    const value = single(request, name);
    const signature = value?.startsWith(prefix) === true ? hex(value.slice(prefix.length)) : null;
    const named = id === null ? null : single(request, id);
    return claimOf([signature], [request.body], { id: named !== null && isId(named) ? named : null });
  },
});

/**
 * HMAC-SHA256 of the body alone in a header that the tenant names. Senders differ in the case of hexadecimal digits and in
 * the padding of base64. No signed id or time.
 */
const hmac: Scheme = {
  takesSecret: true,
  keyOf: utf8Key,
  read: (request, { header, encoding, prefix }) => {
    const value = typeof header === 'string' ? single(request, header.toLowerCase()) : null;
    const text = value?.startsWith(prefix ?? '') === true ? value.slice(prefix?.length ?? 0) : undefined;
    const padded = text?.length === 43 ? `${text}=` : text;
    return claimOf([encoding === 'base64' ? base64(padded) : hex(text?.toLowerCase())], [request.body]);
  },
};

/** `t=<time>,v1=<hex>,…` of `<time>.<body>`. */
const stripe: Scheme = {
  takesSecret: true,
  keyOf: utf8Key,
  read: (request) => {
    const header = single(request, 'stripe-signature');
    const [time, ...otherTimes] = listed(header, ',', 't=');
    const timestamp = seconds(time);
    if (time === undefined || otherTimes.length > 0 || timestamp === null) return null;
    return claimOf(listed(header, ',', 'v1=').map(hex), [time, '.', request.body], { timestamp });
  },
};

/** `v0=<hex>` of `v0:<time>:<body>`. */
const slack: Scheme = {
  takesSecret: true,
  keyOf: utf8Key,
  read: (request) => {
    const time = single(request, 'x-slack-request-timestamp');
    const timestamp = seconds(time);
    const value = single(request, 'x-slack-signature');
    if (time === null || timestamp === null || value?.startsWith('v0=') !== true) return null;
    return claimOf([hex(value.slice(3))], ['v0:', time, ':', request.body], { timestamp });
  },
};

/** Prefixes of the headers of a Standard Webhook: the specification's, and Svix's own. */
const standardPrefixes = ['webhook', 'svix'] as const;

/** The id, time and signatures under the first prefix with all three; both sets are never mixed. */
function standardParts(request: VerifiableRequest): { id: string; time: string; signatures: string } | null {
  for (const prefix of standardPrefixes) {
    const id = single(request, `${prefix}-id`);
    const time = single(request, `${prefix}-timestamp`);
    const signatures = single(request, `${prefix}-signature`);
    if (id !== null && time !== null && signatures !== null) return { id, time, signatures };
  }
  return null;
}

/**
 * `v1,<base64>`, separated by spaces, of `<id>.<time>.<body>`: Standard Webhooks 1.0.0. Svix names the headers `svix-*`:
 * https://docs.svix.com/receiving/verifying-payloads/how-manual
 */
const standard: Scheme = {
  takesSecret: false,
  keyOf: standardKey,
  read: (request) => {
    const { id, time, signatures } = standardParts(request) ?? {};
    const timestamp = seconds(time);
    if (id === undefined || !isId(id) || time === undefined || timestamp === null) return null;
    const listedSignatures = listed(signatures ?? null, ' ', 'v1,').map(base64);
    return claimOf(listedSignatures, [id, '.', time, '.', request.body], { timestamp, id, idIsSigned: true });
  },
};

/** `v1=<hex>`, separated by commas, of the body. */
const pagerduty: Scheme = {
  takesSecret: true,
  keyOf: utf8Key,
  read: (request) =>
    claimOf(listed(single(request, 'x-pagerduty-signature'), ',', 'v1=').map(hex), [request.body]),
};

/** The body alone, or `<time>:<body>` where the sender is configured to send the time. */
const grafana: Scheme = {
  takesSecret: false,
  keyOf: utf8Key,
  read: (request) => {
    const signature = hex(single(request, 'x-grafana-alerting-signature') ?? undefined);
    const times = request.header('x-grafana-alerting-timestamp');
    const timestamp = seconds(times[0]);
    if (times.length > 1 || (times.length === 1 && timestamp === null)) return null;
    return claimOf([signature], [...times.flatMap((time) => [time, ':']), request.body], { timestamp });
  },
};

/** All schemes with signatures. */
export const schemes: Readonly<Record<Exclude<WebhookScheme, 'token'>, Scheme>> = {
  standard,
  stripe,
  slack,
  grafana,
  pagerduty,
  hmac,
  github: bodyScheme('x-hub-signature-256', { prefix: 'sha256=', id: 'x-github-delivery' }),
  sentry: { ...bodyScheme('sentry-hook-signature', { id: 'request-id' }), takesSecret: true },
};

/** The parts of a request for the proof of its origin. */
export interface VerifiableRequest {
  /** All values of a header, in lower case, as sent; empty without the header. */
  header(name: string): readonly string[];
  /** As they came. */
  body: Buffer;
}

export function signedRequestOf(request: IncomingMessage, body: Buffer): VerifiableRequest {
  return { header: (name) => request.headersDistinct[name] ?? [], body };
}
