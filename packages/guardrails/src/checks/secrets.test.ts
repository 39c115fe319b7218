import { describe, expect, it } from '@jest/globals';
import { exampleJwt, exampleKeys, examplePrivateKey, randomText } from '../../test/example-secrets.ts';
import { textsOfShapes } from '../../test/scans.ts';
import { secretShapes, secretTypes, type SecretType } from './secrets.ts';

/** The matched texts of one type. */
function found(type: SecretType, text: string): string[] {
  return textsOfShapes(secretShapes([type]), text);
}

const ghp = `ghp_${randomText(36, 'base62')}`;
const password = `x9${randomText(12, 'base62')}!Q`;
const pem = examplePrivateKey('RSA PRIVATE KEY', '\n');
const escapedPem = examplePrivateKey('PRIVATE KEY', String.raw`\n`);
const encryptedPem = pem.replace(
  'KEY-----\n',
  'KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B2C\n\n',
);
const pgp = examplePrivateKey('PGP PRIVATE KEY BLOCK', '\n');
const storageKey = `${randomText(86, 'base62')}==`;
const token = randomText(24, 'base62');

/** Texts by type, with their matches. */
const matching: Record<SecretType, [text: string, ...matches: string[]][]> = {
  api_key: [
    ...exampleKeys.map((key): [string, string] => [`use "${key}" here`, key]),
    [`OPENAI_API_KEY=${ghp}\n`, ghp],
    [`{"a":"b\\n${ghp}\\n"}`, ghp],
    [`?key%3D${ghp}%26`, ghp],
    [`token ${ghp}.`, ghp],
  ],
  private_key: [
    [`key:\n${pem}\nend`, pem],
    [`{"private_key":"${escapedPem}\\n","x":1}`, escapedPem],
    [encryptedPem, encryptedPem],
    [pgp, pgp],
    [`${pem} ${pem}`, pem, pem],
  ],
  jwt: [
    [`Bearer ${exampleJwt}`, exampleJwt],
    [`"${exampleJwt}"`, exampleJwt],
  ],
  connection_string: [
    [
      'postgres://app:s3cr3t9@db.acme.internal:5432/app?x=1',
      'postgres://app:s3cr3t9@db.acme.internal:5432/app?x=1',
    ],
    ['url=mongodb+srv://u:p4ssw0rd@c0.abc.mongodb.net/x"', 'mongodb+srv://u:p4ssw0rd@c0.abc.mongodb.net/x'],
    ['redis://:kq83nd@cache:6379', 'redis://:kq83nd@cache:6379'],
    ['"https:\\/\\/jane:kq83nd@acme.com\\/x"', 'https:\\/\\/jane:kq83nd@acme.com'],
    ['Server=db;User Id=sa;Password=Kq83nd!x;', 'Kq83nd!x'],
    ['jdbc:mysql://db/app?user=app&password=Kq83ndx', 'Kq83ndx'],
    [`AccountName=a;AccountKey=${storageKey};`, storageKey],
    ['postgres://user:password@db.acme.com/x', 'postgres://user:password@db.acme.com/x'],
  ],
  assignment: [
    [`password = "${password}"`, password],
    [`DB_PASSWORD=${password}\n`, password],
    [`"api_key": "${token}"`, token],
    [`secret: ${token}`, token],
    [`$client_secret => '${token}'`, token],
    [`token=${token}${'a1B2'.repeat(60)}`, `${token}${'a1B2'.repeat(60)}`],
  ],
};

/** Texts by type in the form of a secret: examples, variables, names, parts of longer tokens. */
const clean: Record<SecretType, string[]> = {
  api_key: [
    'AKIAIOSFODNN7EXAMPLE',
    `sk-${'x'.repeat(48)}`,
    'sk-container-id-1 sk-top-container sk-estimator-doc-link',
    'sk-your-api-key-goes-right-here-please',
    'ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
    `a${ghp}`,
    `AKIA${randomText(17, 'base32')}`,
    'task-force-and-risk-management-of-the-desk',
    'hf_transformers_are_great',
  ],
  private_key: [
    '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----',
    'it starts with -----BEGIN PRIVATE KEY----- and so on',
    '-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----',
    '-----------------------------',
  ],
  jwt: [
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9',
    'eyJhbGciOiJIUzI1NiJ9.eyJ...',
    `eyJ${'a'.repeat(40)}.${'b'.repeat(40)}`,
  ],
  connection_string: [
    'postgres://postgres:postgres@localhost:5432/app',
    'amqp://guest:guest@rabbitmq:5672/',
    'postgres://app@db.acme.com/x',
    'postgres://$USER:$PASSWORD@db.acme.com',
    'mysql://<user>:<password>@host/db',
    'https://acme.com:8443/a@b',
    'ssh://git@github.com/acme/x.git',
    'password=Kq83nd!x',
    'Server=db;Password=${DB_PASSWORD};',
  ],
  assignment: [
    'password = process.env.DB_PASSWORD_2',
    'token = getToken(42)',
    'max_tokens = 4096',
    'secretName: checkout-service-v2-prod',
    'password: ********',
    'the password is written on paper',
    'password = changeme',
    'token: ${{ secrets.GITHUB_TOKEN }}',
    'passwordField = document.getElementById',
  ],
};

describe.each(secretTypes)('%s', (type) => {
  it.each(matching[type])('is found in %j', (text, ...matches) => {
    expect(found(type, text)).toEqual(matches);
  });

  it.each(clean[type])('is not found in %j', (text) => {
    expect(found(type, text)).toEqual([]);
  });
});

describe('the check for secrets', () => {
  it('finds values that are assigned only if it is set to', () => {
    expect(textsOfShapes(secretShapes(), `password = "${password}"`)).toEqual([]);
  });

  it('removes the rest of a private key without a last line', () => {
    expect(found('private_key', `${pem.slice(0, 400)}; more`)).toEqual([pem.slice(0, 400)]);
  });
});
