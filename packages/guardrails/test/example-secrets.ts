import { createHash } from 'node:crypto';

const base62 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const alphabets = {
  base62,
  url: `${base62}-_`,
  hex: '0123456789abcdef',
  lower: 'abcdefghijklmnopqrstuvwxyz0123456789',
  base32: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567',
  upper: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
};

/** Random-looking characters, the same in each run. Secrets are made here: no file holds the text of one. */
export function randomText(length: number, alphabet: keyof typeof alphabets, seed = ''): string {
  const characters = alphabets[alphabet];
  const bytes: number[] = [];
  for (let round = 0; bytes.length < length; round += 1) {
    bytes.push(
      ...createHash('sha256')
        .update(`${seed} ${alphabet} ${String(length)} ${String(round)}`)
        .digest(),
    );
  }
  return bytes
    .slice(0, length)
    .map((byte) => characters.charAt(byte % characters.length))
    .join('');
}

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A signed token with claims of some length. */
export const exampleJwt = [
  base64url({ alg: 'HS256', typ: 'JWT' }),
  base64url({ sub: '1234567890', name: 'Jane Doe', iat: 1_516_239_022 }),
  randomText(43, 'url'),
].join('.');

/** A private key in PEM form, with lines of `lines`. */
export function examplePrivateKey(kind: string, lines: string, count = 20): string {
  const body = Array.from({ length: count }, (_, line) => randomText(64, 'base62', String(line))).join(lines);
  return `-----BEGIN ${kind}-----${lines}${body}${lines}-----END ${kind}-----`;
}

/** API keys of makers. */
export const exampleKeys: readonly string[] = [
  `gwk_${randomText(16, 'base62')}_${randomText(43, 'url')}`,
  `whsec_${randomText(43, 'base62')}=`,
  `sk-proj-${randomText(156, 'url')}`,
  `sk-${randomText(20, 'base62')}T3BlbkFJ${randomText(20, 'base62')}`,
  `sk-ant-api03-${randomText(93, 'url')}AA`,
  `sk-or-v1-${randomText(64, 'hex')}`,
  `sk-${randomText(32, 'hex')}`,
  `gsk_${randomText(52, 'base62')}`,
  `xai-${randomText(80, 'base62')}`,
  `hf_${randomText(34, 'base62')}`,
  `AIza${randomText(35, 'url')}`,
  `AKIA${randomText(16, 'base32')}`,
  `ghp_${randomText(36, 'base62')}`,
  `github_pat_${randomText(22, 'base62')}_${randomText(59, 'base62')}`,
  `glpat-${randomText(20, 'url')}`,
  `npm_${randomText(36, 'base62')}`,
  `pypi-AgEIcHlwaS5vcmc${randomText(160, 'url')}`,
  `sk_live_${randomText(24, 'base62')}`,
  `SG.${randomText(22, 'url')}.${randomText(43, 'url')}`,
  `xoxb-263594206564-2343594206574-${randomText(24, 'base62')}`,
  `dop_v1_${randomText(64, 'hex')}`,
  `hvs.${randomText(90, 'url')}`,
  `AGE-SECRET-KEY-1${randomText(58, 'upper')}`,
  `NRAK-${randomText(27, 'upper')}`,
  `shpat_${randomText(32, 'hex')}`,
  `sk-proj-${randomText(400, 'url')}`,
];
