import fc from 'fast-check';

/** Paths as somebody would write them who looks for a way around the relay's rules: one character a byte. */

const words = [
  'internal',
  'v1',
  'owner',
  'tenants',
  'api-keys',
  'mcp',
  'servers',
  'tenant',
  'resource-transfers',
  'previews',
  'agents',
  'models',
  'health',
  'whoami',
  'api-docs',
  'proxy',
  'x',
];

const closed = [
  'internal/v1/owner/tenants',
  'internal/v1/owner/api-keys',
  'v1/mcp/servers',
  'v1/mcp/servers/x/refresh',
  'v1/tenant/resource-transfers/previews',
];
const open = [
  'v1/agents',
  'v1/models/vendor/large',
  'v1/models/agent:demo',
  'health',
  'v1/whoami',
  'v1/agents/x',
];

const separators = [
  '/',
  '//',
  '\\',
  '/./',
  '/../',
  '/x/../',
  '/;/',
  ';a=b/',
  '/..;/',
  '%2f',
  '%5c',
  '%252f',
  '\uff0f',
];
const starts = [
  '',
  '',
  '',
  '..',
  './',
  '/',
  '\\',
  ';',
  'x/..;/',
  'http://host/',
  '//host/',
  '@host/',
  '%2e%2e/',
  '\u2025/',
];
const ends = [
  '',
  '',
  '',
  '/',
  '/.',
  '/..',
  ';',
  ';x=/../',
  '%00',
  '%',
  '%zz',
  '%ff',
  '#',
  '%23',
  '%3f',
  '%3F/../../internal',
  '.',
  '%20',
  '%0d%0a',
  '\t',
];

const encode = (character: string): string =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

/** One character of a path in another dress. */
const disguises: readonly ((character: string) => string)[] = [
  (character) => character,
  (character) => character,
  (character) => character,
  (character) => character.toUpperCase(),
  encode,
  (character) => encode(character).toUpperCase(),
  (character) => encode(encode(character)),
  (character) => encode(character).replaceAll('%', '%25'),
  (character) => encode(character).replaceAll('%', '%2525'),
  (character) => encode(character).replaceAll('%', '%25252525252525252525'),
  fullwidth,
  (character) => encode(fullwidth(character)),
];

function fullwidth(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0x20 && code < 0x7f ? String.fromCharCode(code + 0xfee0) : character;
}

const asBytes = (text: string): string => Buffer.from(text).toString('latin1');

const joined = fc
  .array(fc.tuple(fc.constantFrom(...words), fc.constantFrom('/', '/', ...separators)), {
    minLength: 1,
    maxLength: 6,
  })
  .map((pairs) => pairs.flat().slice(0, -1).join(''));

const known = fc
  .tuple(fc.constantFrom(...closed, ...open), fc.constantFrom('/', '/', ...separators))
  .map(([path, separator]) => path.replaceAll('/', separator));

const disguised = fc
  .tuple(
    fc.oneof(known, known, joined),
    fc.infiniteStream(fc.constantFrom(...disguises)),
    fc.integer({ min: 0, max: 20 }),
  )
  .map(([path, stream, rarity]) => {
    let count = 0;
    return path.replaceAll(/./gu, (character) => {
      count += 1;
      if (rarity === 0 || count % rarity !== 0) return character;
      const { value } = stream.next() as { value: (character: string) => string };
      return value(character);
    });
  });

export const oddPath: fc.Arbitrary<string> = fc
  .oneof(
    {
      weight: 8,
      arbitrary: fc
        .tuple(fc.constantFrom(...starts), disguised, fc.constantFrom(...ends))
        .map((parts) => parts.join('')),
    },
    {
      weight: 1,
      arbitrary: fc
        .string({ unit: 'grapheme', maxLength: 30 })
        .map((text) => encodeURIComponent(text.toWellFormed())),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  )
  .map((path) => asBytes(`/${path}`).replaceAll(/[\0-\x20\x7f?]/g, encode));
