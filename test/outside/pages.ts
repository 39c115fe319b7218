import { sleep } from '@gatehouse/kit/clock';
import { AuthorizationServer } from '@gatehouse/test/authorization-server';
import { said, TestMcpServer } from '@gatehouse/test/mcp-server';
import type { Page } from 'puppeteer-core';
import { launchBrowser, picture } from './browser.ts';
import {
  api,
  choose,
  click,
  credentials,
  faults,
  fill,
  holdsNothing,
  logInAfresh,
  logOut,
  origin,
  patience,
  settle,
  shownUsd,
  textOf,
} from './page-driver.ts';
import { PageWatch } from './page-watch.ts';
import { check, mustHold } from './step.ts';

/** A step of `make test-outside` (32-pages.sh): see test/outside/README.md. */

const widths = { phone: 360, tablet: 820, desktop: 1_280 };

/** The pages that the navigation lists, by their paths. */
const listedPages = (page: Page): Promise<string[]> =>
  page.$$eval('nav a', (links) => links.map((link) => String((link as { pathname?: string }).pathname)));

/** Looks at views in both colour schemes and at each width; returns what is wrong. */
async function inspect(page: Page, role: string, paths: readonly string[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const target of paths) {
    await page.goto(origin + target);
    await settle(page);
    const name = `${role}-${target.replace(/^\/app\//, '').replace(/\W.*/, '') || 'first'}`;
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      for (const [device, width] of Object.entries(widths)) {
        await page.setViewport({ width, height: 900 });
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
        if (Number(overflow) > 0) wrong.push(`${target} is ${String(overflow)} px too wide at ${width}`);
        if (scheme === 'light' || width === widths.desktop)
          await picture(page, `pages-${name}-${scheme}-${device}.png`);
      }
      const found = await faults(page, scheme === 'light' ? 'all' : 'colours');
      wrong.push(...found.map((fault) => `${target} (${scheme}): ${fault}`));
    }
  }
  return wrong;
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setViewport({ width: widths.desktop, height: 900 });
  // Chromium logs the 401 that leads to the login, the 400 of a form and the 429 of a deletion that are refused, and looks for the icon.
  const watch = new PageWatch(page, origin, /status of 4(0[014]|29)/);
  await watch.start(page);
  let secret = '';

  await check('a link into the pages leads through the login back to it', async () => {
    await logInAfresh(page, credentials.admin_key, '/app/keys?from=link');
    return mustHold(page.url() === `${origin}/app/keys?from=link`, page.url());
  });

  await check('a person makes a key, and gets its secret once with snippets', async () => {
    await click(page, 'Create a key');
    await fill(page, 'Name', 'Made in a browser');
    await click(page, 'Create');
    await page.waitForSelector('.secret pre', patience);
    secret = await textOf(page, '.secret pre');
    const shown = await textOf(page, 'dialog');
    const programs = ['curl', 'OpenAI SDK', 'Claude Code', 'Codex'].filter(
      (program) => !shown.includes(program),
    );
    await picture(page, 'pages-new-key.png');
    const wrong = [...(await faults(page)), ...programs];
    await page.keyboard.press('Escape');
    await page.waitForFunction(`document.querySelector('dialog') === null`, patience);
    return mustHold(/^gwk_\w{16}_[\w-]{43}$/.test(secret) && wrong.length === 0, wrong.join('; '));
  });

  await check('figures of pages are those of the API, to the last digit', async () => {
    const messages = [{ role: 'user', content: 'Say the word portcullis.' }];
    for (const model of ['gpt-4.1-mini', `agent:${credentials.agent_key}`]) {
      const { status } = await api('/v1/chat/completions', secret, { model, messages });
      if (status !== 200) return `a completion returned ${status}`;
    }
    for (let tries = 0; tries < 30; tries += 1) {
      const asked = page.waitForRequest((request) => request.url().includes('/v1/costs/summary'), patience);
      await page.goto(`${origin}/app/?period=today`);
      const { pathname, search } = new URL((await asked).url());
      await settle(page);
      const shown = await page.$eval('[data-figure=total_usd]', (figure) =>
        String((figure as { title?: string }).title),
      );
      const { body } = await api<{ total_usd: string }>(pathname + search, credentials.admin_key);
      if (/[1-9]/.test(shown) && shown === shownUsd(body.total_usd)) return null;
      await sleep(1_000);
    }
    return 'they differ for half a minute';
  });

  await check('an answer streams into the playground, with its cost', async () => {
    await page.goto(`${origin}/app/playground?model=agent:${credentials.agent_key}`);
    await settle(page);
    await fill(page, 'Message', 'Say the word drawbridge.');
    await click(page, 'Send');
    await page.waitForFunction(
      `/the run/.test(document.querySelector('.conversation').textContent)`,
      patience,
    );
    const shown = await textOf(page, '.conversation');
    const wrong = await faults(page);
    await picture(page, 'pages-playground.png');
    await page.evaluate(`document.querySelector('.conversation a').click()`);
    await page.waitForSelector('.waterfall', patience);
    await picture(page, 'pages-trace.png');
    return holdsNothing([
      ...wrong,
      ...(await faults(page)),
      ...(/drawbridge.*\$/s.test(shown) ? [] : [shown]),
    ]);
  });

  await check('runs appear in traces while the page is open', async () => {
    await page.goto(`${origin}/app/traces`);
    await page.waitForSelector('tbody tr', patience);
    const rows = async (): Promise<number> => (await page.$$('tbody tr')).length;
    const before = await rows();
    await api('/v1/chat/completions', secret, {
      model: 'gpt-4.1-mini',
      messages: [{ role: 'user', content: 'Say hello.' }],
    });
    for (let tries = 0; tries < 60; tries += 1) {
      if ((await rows()) > before) return null;
      await sleep(500);
    }
    return `there are still ${before} rows`;
  });

  await check('a revoked key shows as revoked, and stops', async () => {
    await page.goto(`${origin}/app/keys`);
    await click(page, 'Revoke Made in a browser');
    await page.waitForSelector('dialog .danger', patience);
    const wrong = await faults(page);
    await (await page.$('dialog .danger'))?.click();
    await page.waitForFunction(`/revoked/.test(document.querySelector('tbody')?.textContent)`, patience);
    const refusedBy = performance.now() + 5_000;
    let status = 200;
    while (status !== 401 && performance.now() < refusedBy) {
      await sleep(250);
      ({ status } = await api('/v1/whoami', secret));
    }
    return holdsNothing([...wrong, ...(status === 401 ? [] : [`whoami returned ${status}`])]);
  });

  await check('an admin creates an endpoint, and gets both of its secrets once', async () => {
    const agent = await api<{ id: string }>(`/v1/agents/${credentials.agent_key}`, credentials.admin_key);
    await page.goto(`${origin}/app/webhooks`);
    await click(page, 'Create an endpoint');
    await fill(page, 'Name', 'Alerts');
    await page.waitForSelector(`option[value="${agent.body.id}"]`, patience);
    await choose(page, 'Agent', agent.body.id);
    await choose(page, 'Template', 'alertmanager');
    const wrong = await faults(page);
    await click(page, 'Create');
    await page.waitForSelector('.secret pre', patience);
    const secrets = new Set((await textOf(page, 'dialog')).match(/whsec_[\w+/]{40,}=/g));
    await page.keyboard.press('Escape');
    await page.waitForFunction(`/Alerts/.test(document.querySelector('tbody')?.textContent)`, patience);
    return holdsNothing([...wrong, ...(secrets.size === 2 ? [] : [`${secrets.size} secrets`])]);
  });

  await check('a channel and an MCP server that the API refuses say why in their forms', async () => {
    await page.goto(`${origin}/app/channels`);
    await click(page, 'Create a channel');
    await choose(page, 'Type', 'slack');
    await page.waitForSelector('::-p-aria([name="Signing secret"][role="textbox"])', patience);
    const wrong = await faults(page);
    await page.goto(`${origin}/app/mcp-servers`);
    await click(page, 'Register a server');
    await fill(page, 'Name', 'tickets');
    await fill(page, 'URL', 'http://169.254.169.254/mcp');
    await click(page, 'Register');
    await page.waitForSelector('dialog .problem', patience);
    return holdsNothing([...wrong, ...(await faults(page))]);
  });

  await check('a document that an admin stores is found by a question', async () => {
    await page.goto(`${origin}/app/memory/${credentials.agent_key}`);
    await click(page, 'Store a document');
    await fill(page, 'Path', 'policies/late returns.md');
    await fill(page, 'Text', 'Wicker baskets may be returned within ninety days.');
    await click(page, 'Store');
    await page.waitForFunction(
      `/late returns/.test(document.querySelector('tbody')?.textContent ?? '')`,
      patience,
    );
    await fill(page, 'Question', 'When may wicker baskets be returned?');
    await click(page, 'Search');
    await page.waitForFunction(`/ninety days/.test(document.querySelector('tbody')?.textContent)`, patience);
    return holdsNothing(await faults(page));
  });

  await check('the graph of an agent is drawn around an entity', async () => {
    const graph = `/v1/agents/${credentials.agent_key}/kg`;
    const named = (id: string, name: string) => ({ external_id: id, name, type: 'place' });
    const entities = [named('g', 'Gate'), named('t', 'Tower'), named('m', 'Moat')];
    await api(`${graph}/entities`, credentials.admin_key, { entities });
    const relations = ['t', 'm'].map((target) => ({ source: 'g', target, type: 'stands_by' }));
    await api(`${graph}/relations`, credentials.admin_key, { relations });
    await page.goto(`${origin}/app/graph/${credentials.agent_key}?start=Gate`);
    await page.waitForSelector('.graph circle', patience);
    const shown = [(await page.$$('.graph circle')).length, (await page.$$('.graph line')).length];
    await picture(page, 'pages-graph.png');
    return holdsNothing([...(await faults(page)), ...(shown.join() === '3,2' ? [] : [shown.join()])]);
  });

  await check('an error shows the message of the API and the request id', async () => {
    await page.goto(`${origin}/app/traces/no-such-run`);
    await page.waitForSelector('.problem', patience);
    const shown = await textOf(page, '.problem');
    return mustHold(/request \w/.test(shown), shown);
  });

  await check('the pages work by keyboard', async () => {
    await page.goto(`${origin}/app/usage`);
    await settle(page);
    await page.keyboard.press('Tab');
    const first = await page.evaluate('document.activeElement.textContent');
    await page.focus('nav a[href="/app/keys"]');
    await page.keyboard.press('Enter');
    await page.waitForFunction(`document.activeElement.tagName === 'H1'`, patience);
    const heading = await textOf(page, 'h1');
    return mustHold(first === 'Skip to the content' && heading === 'Keys', `${String(first)}, ${heading}`);
  });

  await check('no page of an admin has a fault by axe, or is wider than its screen', async () =>
    holdsNothing([
      ...(await inspect(page, 'admin', await listedPages(page))),
      ...(await inspect(page, 'admin', [
        ...['/app/agents/new', '/app/costs?by=day&and=model', '/app/nothing'],
        ...['memory', 'graph'].map((of) => `/app/${of}/${credentials.agent_key}`),
      ])),
    ]),
  );

  await check('costs are saved by exports of the API', async () => {
    await page.goto(`${origin}/app/costs?period=today&by=model`);
    await settle(page);
    const wrong: string[] = [];
    for (const [button, column] of [
      ['Save as CSV', 'model,requests,'],
      ['Save as FOCUS', 'BilledCost,BillingAccountId,'],
    ] as const) {
      const answered = page.waitForResponse((response) => response.url().includes('/costs/export'), patience);
      await click(page, button);
      const response = await answered;
      const { pathname, search } = new URL(response.url());
      const file = await fetch(origin + pathname + search, {
        headers: { authorization: `Bearer ${credentials.admin_key}` },
      });
      const text = await file.text();
      if (response.status() !== 200 || !text.startsWith(column))
        wrong.push(`${button}: ${text.slice(0, 80)}`);
      if (file.headers.get('x-gateway-rows') === '0') wrong.push(`${button} has no row`);
    }
    const shown = await page.$$('.problem');
    return holdsNothing([...wrong, ...shown.map(() => 'a problem is shown')]);
  });

  await check('a session that has ended leads to the login', async () => {
    await logOut(page);
    await page.goto(`${origin}/app/costs`);
    await page.waitForSelector('#key', patience);
    const target = new URL(page.url()).searchParams.get('return_to');
    return mustHold(target === '/app/costs', page.url());
  });

  await check('no page of a user has a fault by axe, and none is of an admin', async () => {
    await logInAfresh(page, credentials.user_key, '/app/');
    const paths = await listedPages(page);
    const foreign = paths.filter((target) => /costs|users|sessions|audit|keys/.test(target));
    const wrong = await inspect(page, 'user', paths);
    await logOut(page);
    return holdsNothing([...wrong, ...foreign]);
  });

  await check('a user has all of their data deleted, and sees how far that is', async () => {
    const body = { name: 'Of a user', role: 'user', user_id: 'grace' };
    const made = await api<{ key: string }>('/v1/api-keys', credentials.admin_key, body);
    await logInAfresh(page, made.body.key, '/app/data');
    await click(page, 'Delete all of your data');
    await page.waitForSelector('dialog .danger', patience);
    const wrong = await faults(page);
    await picture(page, 'pages-delete-own-data.png');
    await (await page.$('dialog .danger'))?.click();
    await page.waitForFunction(
      `/: completed/.test(document.querySelector('caption')?.textContent ?? '')`,
      patience,
    );
    wrong.push(...(await inspect(page, 'own-data', [`/app/data${new URL(page.url()).search}`])));
    await click(page, 'Delete all of your data');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await page.waitForSelector('dialog .problem', patience);
    const shown = await textOf(page, 'dialog .problem');
    await page.keyboard.press('Escape');
    await logOut(page);
    return holdsNothing([...wrong, ...(/less than 10 minutes/.test(shown) ? [] : [shown])]);
  });

  const login = await AuthorizationServer.start();
  const mail = await TestMcpServer.start([{ name: 'inbox', run: () => said('Two letters.') }]);
  await check('a user logs in at an MCP server in a tab of its own, and out again', async () => {
    login.metadata = { revocation_endpoint: `${login.issuer}/revoke` };
    login.protect(mail);
    const server = { name: 'mail', url: mail.url, auth: { type: 'oauth', per_user: true } };
    await api('/v1/mcp/servers', credentials.admin_key, server);
    const body = { name: 'Of another user', role: 'user', user_id: 'ida' };
    const made = await api<{ key: string }>('/v1/api-keys', credentials.admin_key, body);
    await logInAfresh(page, made.body.key, '/app/data');
    await click(page, 'Log in at mail');
    const link = await page.waitForSelector('main p[role=status] a', patience);
    const wrong = await faults(page);
    const opened = browser.waitForTarget((target) => target.url().includes('/consent?ticket='), patience);
    await link?.click();
    const tab = await (await opened).page();
    await (await tab?.waitForSelector('button', patience))?.click();
    await tab?.waitForFunction(`/Connected/.test(document.body.innerText)`, patience);
    await tab?.close();
    await page.bringToFront();
    // A page without a screen never loses the focus.
    await page.evaluate(`dispatchEvent(new Event('focus'))`);
    const shows = (status: string) =>
      page.waitForFunction(`/${status}/.test(document.querySelector('tbody')?.textContent)`, patience);
    await shows('logged in');
    wrong.push(...(await inspect(page, 'logins', ['/app/data'])));
    await click(page, 'Log out at mail');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await shows('needs login');
    await logOut(page);
    for (let tries = 0; tries < 60 && login.revoked === 0; tries += 1) await sleep(500);
    return holdsNothing([...wrong, ...(login.revoked === 1 ? [] : ['no token was revoked'])]);
  });
  await mail.stop();
  await login.stop();

  await check('an owner chooses the order of models, which the address keeps', async () => {
    await logInAfresh(page, credentials.owner_key, '/app/models');
    await settle(page);
    const shown = (): Promise<string[]> =>
      page.$$eval('tbody td:first-child', (cells) =>
        cells.map((cell) => String((cell as { textContent: string | null }).textContent)),
      );
    const before = await shown();
    const sorted = before.toSorted((one, other) => one.localeCompare(other));
    await click(page, 'Model');
    const chosen = await shown();
    await page.goto(page.url());
    await settle(page);
    const kept = await shown();
    await logOut(page);
    return holdsNothing([
      ...(before.join() === sorted.join() ? [`they are in order already: ${before.join()}`] : []),
      ...[chosen, kept].filter((order) => order.join() !== sorted.join()).map((order) => order.join()),
    ]);
  });

  await check('no page of an owner has a fault by axe', async () => {
    await logInAfresh(page, credentials.owner_key, '/app/');
    const wrong = await inspect(page, 'owner', await listedPages(page));
    await logOut(page);
    return holdsNothing(wrong);
  });

  await check('every request stays at the gateway', async () => holdsNothing(watch.elsewhere));

  await check('nothing violates the content-security policy, and the browser reports no error', async () =>
    holdsNothing(watch.complaints),
  );
} finally {
  await browser.close();
}
