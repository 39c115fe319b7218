import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sleep } from '@gatehouse/kit/clock';
import { freePort } from '@gatehouse/local/ports';
import { ForgingIssuer } from '@gatehouse/test/forging-issuer';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import { makeTenant } from '@gatehouse/test/tenants';
import type { Page } from 'puppeteer-core';
import { launchBrowser } from './browser.ts';
import { PageWatch } from './page-watch.ts';
import { holdsNothing, textOf } from './page-driver.ts';
import { check, mustHold } from './step.ts';

/**
 * A part of 32-pages.sh: an admin logs in at an issuer and works by keyboard alone, at a gateway of two replicas, until
 * the issuer reports a logout to the other replica.
 */

const patience = { timeout: 60_000 };
const boundMs = 5_000;
const mostTabs = 150;

const issuer = await ForgingIssuer.start();
const tools = await TestMcpServer.start([{ name: 'weather', run: () => said('It rains on the moat.') }]);
const { folder, remove } = await makeStateFolder();
const port = await freePort();
const gateway = `http://127.0.0.1:${port}`;
const replica = `http://127.0.0.1:${port + 1}`;
const issuers = path.join(folder, 'issuers.yaml');
await writeFile(
  issuers,
  `issuers:
  - name: main
    issuer: ${issuer.url}
    client_id: gatehouse
    client_secret_env: OIDC_SECRET
    mappings: [{ group: engineers, tenant: acme, role: admin }]`,
);
const local = new LocalSystem(folder, {
  ...{ PORT: String(port), PUBLIC_URL: gateway, LOG_LEVEL: 'error', GATEHOUSE_REPLICAS: 'all=2' },
  ...{ EGRESS_ALLOW: '127.0.0.1', OIDC_ISSUERS: issuers, OIDC_SECRET: 's3cret' },
});

/** The name of the focused element, in the browser. */
const focused = `(() => {
  const element = document.activeElement;
  const label = element.labels?.[0];
  const labelled = element.type === 'checkbox' ? label : label?.firstChild;
  return (element.getAttribute('aria-label') ?? labelled?.textContent ?? element.textContent).trim();
})()`;

/** Presses Tab until the element with this name has the focus. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < mostTabs; tabs += 1) {
    await page.keyboard.press('Tab');
    if ((await page.evaluate(focused)) === name) return;
  }
  throw new Error(`Tab does not reach ${name}`);
}

async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press('Enter');
}

async function type(page: Page, label: string, text: string): Promise<void> {
  await tabTo(page, label);
  await page.keyboard.type(text);
}

/** Waits for a text in the page. */
const shows = (page: Page, text: string) =>
  page.waitForFunction(
    `document.querySelector('main').innerText.includes(${JSON.stringify(text)})`,
    patience,
  );

/** Waits for a choice of a list. */
const offers = (page: Page, value: string) =>
  page.waitForFunction(
    `[...document.querySelectorAll('option')].some((option) => option.value === ${JSON.stringify(value)})`,
    patience,
  );

async function logoutToken(sid: string): Promise<string> {
  const now = Math.floor(Date.now() / 1_000);
  return issuer.sign(
    {
      ...{ iss: issuer.url, aud: 'gatehouse', iat: now, exp: now + 120, jti: `report of ${sid}`, sid },
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    },
    'logout+jwt',
  );
}

const browser = await launchBrowser();
try {
  const { owner_key: ownerKey } = await local.ready();
  const { adminKey } = await makeTenant({ url: gateway, ownerKey }, { slug: 'acme' });
  const call = async (route: string, key: string, body?: object): Promise<number> => {
    const answer = await fetch(gateway + route, {
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
    return answer.status;
  };
  await call('/v1/mcp/servers', adminKey, { name: 'sky', url: tools.url });
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: 900 });
  // Chromium logs the 401 that leads to the login, and the 404 of a trace that has not arrived yet.
  const watch = new PageWatch(page, gateway, /status of 401|status of 404 .*\/v1\/traces\//);
  await watch.start(page);

  await check('a person logs in at an issuer, by keyboard', async () => {
    issuer.claims = { sub: 'ada', sid: 'session of ada' };
    await page.goto(`${gateway}/app/`);
    await page.waitForSelector('#key', patience);
    await press(page, 'Log in with main');
    await page.waitForSelector('nav', patience);
    return mustHold(page.url() === `${gateway}/app/`, page.url());
  });

  await check('and makes an agent with a tool', async () => {
    await press(page, 'Agents');
    await shows(page, 'There is no agent yet');
    await press(page, 'Create an agent');
    await offers(page, 'gpt-4.1-mini');
    await type(page, 'Key', 'forecast');
    await type(page, 'Model', 'gpt-4.1-mini');
    await shows(page, 'sky: all tools');
    await tabTo(page, 'sky: all tools');
    await page.keyboard.press('Space');
    await press(page, 'Create');
    await page.waitForFunction(`/agents\\/[-0-9a-f]{36}$/.test(location.pathname)`, patience);
    return null;
  });

  await check('and tries it, with a call of the tool, its cost and its trace', async () => {
    await press(page, 'Playground');
    await offers(page, 'agent:forecast');
    await type(page, 'Model or agent', 'agent:forecast');
    await type(page, 'Message', 'Ask your tool about the weather.');
    await page.keyboard.press('Enter');
    await shows(page, 'It rains on the moat.');
    await shows(page, '$');
    await press(page, 'the run');
    await page.waitForSelector('.waterfall', patience);
    await shows(page, 'weather');
    return null;
  });

  await check('and makes a key, which works until it is revoked', async () => {
    await press(page, 'Keys');
    await page.waitForFunction(`document.activeElement.tagName === 'H1'`, patience);
    await press(page, 'Create a key');
    await type(page, 'Name', 'Typed');
    await press(page, 'Create');
    await page.waitForSelector('.secret pre', patience);
    const secret = await textOf(page, '.secret pre');
    const works = await call('/v1/whoami', secret);
    await page.keyboard.press('Escape');
    await shows(page, 'Typed');
    await press(page, 'Revoke Typed');
    await press(page, 'Revoke');
    await shows(page, 'revoked');
    await sleep(boundMs);
    const statuses = [works, await call('/v1/whoami', secret)].join();
    return mustHold(statuses === '200,401', statuses);
  });

  await check('and is led to the login when the issuer reports a logout to another replica', async () => {
    await press(page, 'Traces');
    await shows(page, 'Live');
    const form = new URLSearchParams({ logout_token: await logoutToken('session of ada') });
    const path = '/login/oidc/main/backchannel-logout';
    const answer = await fetch(replica + path, { method: 'POST', body: form });
    const startedAt = performance.now();
    await page.waitForSelector('#key', patience);
    const took = performance.now() - startedAt;
    const { pathname, searchParams } = new URL(page.url());
    const shown = [answer.status, pathname, searchParams.get('return_to')].join();
    return mustHold(shown === '200,/login,/app/traces' && took < boundMs, `${shown} after ${took} ms`);
  });

  await check(
    'every request stays at the gateway and its issuer, and nothing violates the policy',
    async () =>
      holdsNothing([...watch.elsewhere.filter((url) => !url.startsWith(issuer.url)), ...watch.complaints]),
  );
} finally {
  await browser.close();
  await local.stop();
  await remove();
  await tools.stop();
  await issuer.stop();
}
