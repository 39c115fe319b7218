import { describe, expect, it } from '@jest/globals';
import { IssuersError, readIssuers } from './issuer-settings.ts';

const good = `
issuers:
  - name: keycloak
    issuer: https://login.example.com/realms/acme
    client_id: gatehouse
    client_secret_env: KEYCLOAK_SECRET
    mappings:
      - { group: /engineers, tenant: acme, role: user, scopes: [chat] }
`;
const environment = { KEYCLOAK_SECRET: 's3cret' };
const allowsHttp = (host: string): boolean => host === 'issuer.internal';
const read = (text: string) => readIssuers({ text, environment, allowsHttp });

function problemsOf(text: string): readonly string[] {
  try {
    read(text);
  } catch (error) {
    if (error instanceof IssuersError) return error.problems;
  }
  return [];
}

describe('the file of issuers', () => {
  it('has defaults, and secrets by their names', () => {
    expect(read(good)).toEqual([
      expect.objectContaining({
        ...{ clientSecret: 's3cret', user_claim: 'sub', groups_claim: 'groups', owner_groups: [] },
        scopes: ['openid', 'profile'],
      }),
    ]);
  });

  it('names every mistake at once', () => {
    const text = `${good}
  - name: Second Issuer
    issuer: ftp://login.example.com
    client_id: ''
    color: red
    mappings:
      - { tenant: acme, role: user }
      - { group: a, claim: { name: b, value: c }, tenant: acme, role: user }
      - { group: a, tenant: acme, role: owner }
      - { group: a, tenant: acme, role: user, scopes: [keys.write] }
`;
    const problems = problemsOf(text);
    for (const place of ['name', 'issuer', 'client_id', 'mappings.0', 'mappings.1', 'mappings.2.role'])
      expect(problems.some((problem) => problem.startsWith(`issuers.1.${place}: `))).toBe(true);
    expect(problems.join('\n')).toMatch(/color/);
    expect(problems.join('\n')).toMatch(/the role user has no scope keys\.write/);
  });

  it.each([
    ['a name twice', good + good.slice('\nissuers:'.length), /name: is there twice/],
    ['a secret that is not set', good.replace('KEYCLOAK_SECRET', 'NO_SECRET'), /NO_SECRET is not set/],
    ['http', good.replace('https:', 'http:'), /http is for hosts that EGRESS_ALLOW names/],
    ['user info', good.replace('login.example', 'me:pw@login.example'), /without user info/],
    [
      'all directories of Microsoft',
      good.replace('https://login.example.com/realms/acme', 'https://login.microsoftonline.com/common/v2.0'),
      /must name one directory/,
    ],
    ['no mapping', good.split('    mappings')[0] ?? '', /needs mappings or owner_groups/],
    ['no YAML', 'issuers: [', /not valid YAML/],
    ['nothing', '', /the file/],
  ])('is refused with %s', (_name, text, problem) => {
    expect(problemsOf(text).join('\n')).toMatch(problem);
  });

  describe('with two issuers that give the role user in one tenant', () => {
    const ofUsers = '{ group: /staff, tenant: acme, role: user }';
    const problemOfBoth = (more: readonly [string, string], mapping = ofUsers) =>
      problemsOf(`${good.replace('client_id: gatehouse', `client_id: gatehouse\n    ${more[0]}`)}
  - name: entra
    issuer: https://entra.example.com
    client_id: gatehouse
    ${more[1]}
    mappings:
      - ${mapping}
`).join('\n');
    const isShared =
      /^issuers\.1: gives the role user in acme, and so does the issuer keycloak: .*user_prefix.*shares_users/;

    it.each([
      ['nothing is said', ['', ''], isShared],
      ['one has a prefix', ['', "user_prefix: 'en:'"], isShared],
      ['both have the same prefix', ["user_prefix: 'x:'", "user_prefix: 'x:'"], isShared],
      ['one prefix begins with the other', ["user_prefix: 'x:'", "user_prefix: 'x:y:'"], isShared],
      ['one says that it shares', ['shares_users: true', ''], isShared],
      ['each has its prefix', ["user_prefix: 'kc:'", "user_prefix: 'en:'"], /^$/],
      ['both say that they share', ['shares_users: true', 'shares_users: true'], /^$/],
    ] as const)('is refused unless users are apart or shared: %s', (_name, more, problem) => {
      expect(problemOfBoth(more)).toMatch(problem);
    });

    it('takes an id and a slug for what may be one tenant', () => {
      const id = '0198c2a4-8b1d-7f02-a6a1-0c9e4d7b8e55';
      const problem = problemOfBoth(['', ''], `{ group: /staff, tenant: ${id}, role: user }`);
      expect(problem).toMatch(new RegExp(`gives the role user in ${id}`));
    });

    it('lets one of them give admins, or users of another tenant', () => {
      expect(problemOfBoth(['', ''], '{ group: /staff, tenant: acme, role: admin }')).toBe('');
      expect(problemOfBoth(['', ''], '{ group: /staff, tenant: labs, role: user }')).toBe('');
    });
  });

  it('allows http for hosts that the operator names', () => {
    expect(read(good.replace('https://login.example.com', 'http://issuer.internal'))).toHaveLength(1);
  });
});
