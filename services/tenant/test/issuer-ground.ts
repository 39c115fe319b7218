import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '@gatehouse/kit/ids';
import type { Service } from '@gatehouse/shell/service';
import { ForgingIssuer, type TokenClaims } from '@gatehouse/test/forging-issuer';
import { IssuerBrowser, type Page } from './issuer-browser.ts';
import { TenantServiceUnderTest, type TestTenant } from './tenant-service.ts';

export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
export const publicUrl = 'https://gateway.example.com';

const mappings = `
      - { group: engineers, tenant: acme, role: user }
      - { group: admins, tenant: acme, role: admin }
      - { group: both, tenant: acme, role: user, scopes: [chat] }
      - { group: both, tenant: zeta, role: user }
      - { group: ghosts, tenant: nowhere, role: user }
      - { claim: { name: department, value: R&D }, tenant: zeta, role: user }`;

type Issuers = Record<'main' | 'other', ForgingIssuer>;

let people = 0;

/** Two replicas of the tenant service with two issuers, `main` and `other`, and the tenants `acme` and `zeta`. */
export class IssuerGround {
  readonly tenants: TenantServiceUnderTest;
  readonly replica: Service;
  readonly issuers: Issuers;
  readonly acme: TestTenant;
  readonly zeta: TestTenant;
  readonly #folder: string;

  private constructor(
    parts: Pick<IssuerGround, 'tenants' | 'replica' | 'issuers' | 'acme' | 'zeta'>,
    folder: string,
  ) {
    this.tenants = parts.tenants;
    this.replica = parts.replica;
    this.issuers = parts.issuers;
    this.acme = parts.acme;
    this.zeta = parts.zeta;
    this.#folder = folder;
  }

  static async start(): Promise<IssuerGround> {
    const folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
    const issuers = { main: await ForgingIssuer.start(), other: await ForgingIssuer.start() };
    const file = await writeIssuers(folder, issuers, mappings);
    const tenants = await TenantServiceUnderTest.start({
      settings: {
        ...{ PUBLIC_URL: publicUrl, EGRESS_ALLOW: '127.0.0.1' },
        ...{ OIDC_ISSUERS: file, OIDC_SECRET: 's3cret' },
      },
    });
    const replica = await tenants.startReplica();
    const acme = await tenants.makeTenant({ slug: 'acme' });
    const zeta = await tenants.makeTenant({ slug: 'zeta' });
    return new IssuerGround({ tenants, replica, issuers, acme, zeta }, folder);
  }

  async stop(): Promise<void> {
    await this.replica.stop();
    await this.tenants.stop();
    for (const issuer of Object.values(this.issuers)) await issuer.stop();
    await rm(this.#folder, { recursive: true });
  }

  /** A replica with other mappings, whose caller stops it. */
  async startMapped(others: string): Promise<Service> {
    await writeIssuers(this.#folder, this.issuers, others);
    return this.tenants.startReplica();
  }

  /** Good issuers again. */
  mend(): void {
    for (const issuer of Object.values(this.issuers))
      Object.assign(issuer, {
        ...{ claims: {}, tokenAnswer: null, away: false, held: null, userInfo: null },
      });
  }

  browser(): IssuerBrowser {
    return new IssuerBrowser(this.tenants);
  }

  /** The path of the answer that a browser brings back from the page of an issuer. */
  answerTo(
    begun: Page,
    {
      from = 'main',
      name = from,
      fields = {},
    }: { from?: keyof Issuers; name?: string; fields?: Record<string, string> } = {},
  ): string {
    const issuer = this.issuers[from];
    const { searchParams } = new URL(begun.location);
    const query = new URLSearchParams({
      ...{ code: issuer.code(begun.location), state: searchParams.get('state') ?? '', iss: issuer.url },
      ...fields,
    });
    return `/login/oidc/${name}/callback?${query.toString()}`;
  }

  /** A logout token of `main`; `claims` are over those of a good one. */
  logoutToken(claims: TokenClaims, signedBy: keyof Issuers = 'main'): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const good = { iss: this.issuers.main.url, aud: 'gatehouse', iat: now, exp: now + 120, jti: newId() };
    return this.issuers[signedBy].sign({ ...good, events: { [logoutEvent]: {} }, ...claims }, 'logout+jwt');
  }

  /** As a new person, unless the claims name one. */
  async logIn(
    claims: TokenClaims = {},
    {
      at = 'main',
      browser = this.browser(),
      returnTo = '/app/keys',
    }: { at?: keyof Issuers; browser?: IssuerBrowser; returnTo?: string } = {},
  ): Promise<{ browser: IssuerBrowser; answer: Page; sub: string }> {
    people += 1;
    const sub = typeof claims['sub'] === 'string' ? claims['sub'] : `person-${people}`;
    this.issuers[at].claims = { sub, ...claims };
    const begun = await browser.visit(`/login/oidc/${at}?return_to=${encodeURIComponent(returnTo)}`);
    if (begun.status !== 303) throw new Error(`a login began with ${begun.status}: ${begun.text}`);
    return { browser, answer: await browser.visit(this.answerTo(begun, { from: at })), sub };
  }
}

/** Writes the file of issuers; returns its path. */
async function writeIssuers(folder: string, issuers: Issuers, mapped: string): Promise<string> {
  const one = ([name, { url }]: [string, ForgingIssuer]): string => `
  - name: ${name}
    issuer: ${url}
    client_id: gatehouse
    client_secret_env: OIDC_SECRET
    user_prefix: '${name}:'
    owner_groups: [platform]
    mappings:${mapped}`;
  const file = path.join(folder, 'issuers.yaml');
  await writeFile(file, `issuers:${Object.entries(issuers).map(one).join('')}`);
  return file;
}
