import type { HTTPRequest, Page } from 'puppeteer-core';
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
  origin,
  patience,
  settle,
  textOf,
} from './page-driver.ts';
import { check, mustHold } from './step.ts';

/** A part of 32-pages.sh: every form on a phone and a screen, light and dark, and what forms send. */

const { owner_key: owner } = credentials;
const stamp = Date.now().toString(36);
// Its hundred agents are in no list of a step beside this one.
const slug = `forms-${stamp}`;
const { body: tenant } = await api<{ id: string; admin_key: string }>('/internal/v1/owner/tenants', owner, {
  slug,
  name: slug,
});
const admin = tenant.admin_key;
const widths = { phone: 360, desktop: 1_280 };
/** A form is in one picture to its end. */
const height = 1_800;

const make = async (target: string, body: object): Promise<string> =>
  (await api<{ id: string }>(target, admin, body)).body.id;

async function go(page: Page, target: string): Promise<void> {
  await page.goto(origin + target);
  await settle(page);
}

const closed = (page: Page) => page.waitForFunction(`document.querySelector('dialog') === null`, patience);
const shows = (page: Page, text: RegExp) =>
  page.waitForFunction(`${String(text)}.test(document.querySelector('main').textContent)`, patience);

/** Looks at the open form at each width in both colour schemes. */
async function look(page: Page, name: string): Promise<string[]> {
  const wrong: string[] = [];
  for (const [device, width] of Object.entries(widths)) {
    await page.setViewport({ width, height });
    for (const scheme of ['light', 'dark']) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      const found = await faults(page, scheme === 'light' ? 'all' : 'colours');
      wrong.push(...found.map((fault) => `${name} (${device}, ${scheme}): ${fault}`));
      await picture(page, `form-${name}-${scheme}-${device}.png`);
    }
    const overflow = await page.evaluate(
      `Math.max(...[document.documentElement, ...document.querySelectorAll('dialog')].map(
         (element) => element.scrollWidth - element.clientWidth))`,
    );
    if (Number(overflow) > 0) wrong.push(`${name} is ${String(overflow)} px too wide at ${width}`);
  }
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  return wrong;
}

/** Looks at forms, each by its name, its page and the button that opens it. */
async function lookAtForms(
  page: Page,
  forms: readonly (readonly [name: string, target: string, button: string])[],
): Promise<string[]> {
  const wrong: string[] = [];
  for (const [name, target, button] of forms) {
    await page.setViewport({ width: widths.desktop, height: 900 });
    await go(page, target);
    await click(page, button);
    await page.waitForSelector('dialog form', patience);
    await settle(page);
    wrong.push(...(await look(page, name)));
  }
  await page.setViewport({ width: widths.desktop, height: 900 });
  return wrong;
}

/** Answers requests whose URL has a text in place of the gateway, until the returned function ends it. */
async function answering(page: Page, part: string, body: (url: string) => Promise<object>) {
  const answer = (request: HTTPRequest): void => {
    const { pathname, search } = new URL(request.url());
    if (!request.url().includes(part)) void request.continue();
    else
      void body(pathname + search).then((json) =>
        request.respond({ contentType: 'application/json', body: JSON.stringify(json) }),
      );
  };
  await page.setRequestInterception(true);
  page.on('request', answer);
  return async () => {
    page.off('request', answer);
    await page.setRequestInterception(false);
  };
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  const agent = await make('/v1/agents', { key: `forms-${stamp}`, name: 'Forms', model: 'gpt-4.1-mini' });
  const server = await make('/v1/mcp/servers', {
    ...{ name: `forms-${stamp}`, url: 'http://127.0.0.1:9/mcp', verify: false },
    auth: { type: 'headers', headers: { 'X-Key': 'one', 'X-Two': 'two' } },
  });
  await make('/v1/channels/instances', {
    ...{ name: `Forms ${stamp}`, agent_id: agent, type: 'zalo_oa', config: { app_id: '12', oa_id: '34' } },
    credentials: { app_secret: 'app-secret-of-forms', oa_secret: 'oa-secret-of-forms' },
  });
  await make('/v1/webhooks/endpoints', { name: `Forms ${stamp}`, agent_id: agent });
  await make('/v1/toolsets', { name: `forms-${stamp}`, mcp_servers: [`forms-${stamp}`] });
  await make('/v1/api-keys', { name: `Forms ${stamp}`, role: 'user' });
  const policy = await make('/v1/policies', { name: `forms-${stamp}`, per: 'user' });
  await make('/v1/guardrails', {
    ...{ name: `forms-${stamp}`, action: 'mask' },
    check: { type: 'presidio', url: 'https://presidio.example.com' },
  });
  await page.setViewport({ width: widths.desktop, height: 900 });
  await logInAfresh(page, admin, '/app/keys');

  await check('no form of an admin has a fault by axe, or is wider than a phone', async () =>
    holdsNothing(
      await lookAtForms(page, [
        ['key', '/app/keys', 'Create a key'],
        ['key-edited', '/app/keys', `Edit Forms ${stamp}`],
        ['provider-key', '/app/provider-keys', 'Add a key'],
        ['endpoint', '/app/webhooks', 'Create an endpoint'],
        ['endpoint-edited', '/app/webhooks', `Edit Forms ${stamp}`],
        ['endpoint-rotated', '/app/webhooks', `Rotate secret of Forms ${stamp}`],
        ['channel', '/app/channels', 'Create a channel'],
        ['channel-edited', '/app/channels', `Edit Forms ${stamp}`],
        ['mcp-server', '/app/mcp-servers', 'Register a server'],
        ['mcp-server-edited', '/app/mcp-servers', `Edit forms-${stamp}`],
        ['toolset', '/app/toolsets', 'Create a toolset'],
        ['toolset-edited', '/app/toolsets', `Edit forms-${stamp}`],
        ['subscription', '/app/subscriptions', 'Subscribe'],
        ['file', '/app/batches', 'Upload a file'],
        ['transfer', '/app/transfers', 'Plan a transfer'],
        ['document', `/app/memory/${agent}`, 'Store a document'],
        ['memory-import', `/app/memory/${agent}`, 'Import'],
        ['memory-forget', `/app/memory/${agent}`, 'Forget'],
        ['entity', `/app/graph/${agent}`, 'Add an entity'],
        ['relation', `/app/graph/${agent}`, 'Add a relation'],
        ['extraction', `/app/graph/${agent}`, 'Extract from a text'],
        ['user', '/app/users', 'Add a user'],
        ['policy', '/app/policies', 'Create a policy'],
        ['policy-edited', '/app/policies', `Edit forms-${stamp}`],
        ['guardrail', '/app/guardrails', 'Create a guardrail'],
        ['guardrail-edited', '/app/guardrails', `Edit forms-${stamp}`],
        ['policy-exception', `/app/policies/${policy}`, 'Add an exception'],
      ]),
    ),
  );

  await check('a new agent has no fault, and a score is typed digit by digit', async () => {
    await go(page, '/app/agents/new');
    const wrong = await look(page, 'agent');
    await page.setViewport({ width: widths.desktop, height: 900 });
    await go(page, `/app/agents/${agent}`);
    await page.evaluate(
      `[...document.querySelectorAll('label')].find((one) => /^Recall passages/.test(one.textContent)).click()`,
    );
    const score = await page.waitForSelector('::-p-aria([name="Minimum score"][role="textbox"])', patience);
    await score?.click({ count: 3 });
    await score?.type('0.5');
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH', patience);
    await click(page, 'Save');
    await saved;
    const { body } = await api<{ memory: { min_score: number } }>(`/v1/agents/${agent}`, admin);
    if (body.memory.min_score !== 0.5) wrong.push(`the score is ${body.memory.min_score}`);
    return holdsNothing(wrong);
  });

  await check('headers of a server stay with its name, and a line that is none is named', async () => {
    const auth = async () => {
      const { body } = await api<{ auth: object }>(`/v1/mcp/servers/${server}`, admin);
      return JSON.stringify(body.auth);
    };
    const before = await auth();
    await go(page, '/app/mcp-servers');
    await click(page, `Edit forms-${stamp}`);
    await fill(page, 'Name', 'x');
    await click(page, 'Save');
    await closed(page);
    await click(page, `Edit forms-${stamp}x`);
    const headers = await page.waitForSelector('::-p-aria([name="Headers"][role="textbox"])', patience);
    await headers?.click();
    await page.keyboard.down('Control');
    await page.keyboard.press('End');
    await page.keyboard.up('Control');
    await headers?.type('\nnothing');
    await click(page, 'Save');
    await page.waitForSelector('dialog [aria-invalid=true]', patience);
    const wrong = [...(await faults(page)), ...(await look(page, 'mcp-server-wrong-line'))];
    const shown = await textOf(page, 'dialog .field-error');
    if (!/X-Key has no value|nothing/.test(shown)) wrong.push(shown);
    await page.keyboard.press('Escape');
    await closed(page);
    return holdsNothing([...wrong, ...((await auth()) === before ? [] : [await auth()])]);
  });

  await check('the account of a Zalo channel is taken away, and its old secret has an hour', async () => {
    await page.setViewport({ width: widths.desktop, height: 900 });
    await go(page, '/app/channels');
    await click(page, `Edit Forms ${stamp}`);
    const account = await page.waitForSelector('::-p-aria([name="OA ID"][role="textbox"])', patience);
    await account?.click({ count: 3 });
    await account?.press('Backspace');
    const overlap = await page.$eval('::-p-aria([name="Old secret"][role="combobox"])', (choice) =>
      String((choice as { value?: string }).value),
    );
    await click(page, 'Save');
    await closed(page);
    const { body } = await api<{ data: { name: string; config: object }[] }>('/v1/channels/instances', admin);
    const config = body.data.find(({ name }) => name === `Forms ${stamp}`)?.config;
    return mustHold(
      overlap === '3600' && JSON.stringify(config) === '{"app_id":"12"}',
      `${overlap} ${JSON.stringify(config)}`,
    );
  });

  await check('an agent beyond the first hundred is found by its name, also if it is disabled', async () => {
    const key = `far-${stamp}`;
    const far = await make('/v1/agents', { key, name: 'Far away', model: 'gpt-4.1-mini' });
    await api(`/v1/agents/${far}`, admin, { status: 'disabled' }, 'PATCH');
    for (let index = 0; index < 101; index += 1)
      await make('/v1/agents', { key: `near-${stamp}-${index}`, model: 'gpt-4.1-mini' });
    await go(page, '/app/webhooks');
    await click(page, 'Create an endpoint');
    const search = await page.waitForSelector('::-p-aria([name="Find an agent"])', patience);
    await search?.type(key);
    await page.waitForSelector(`option[value="${far}"]`, patience);
    await choose(page, 'Agent', far);
    const label = await textOf(page, `option[value="${far}"]`);
    const wrong = await look(page, 'agent-search');
    await page.setViewport({ width: widths.desktop, height: 900 });
    // The chosen one stays when the search changes.
    await search?.type('x');
    await page.waitForFunction(
      `document.querySelector('option[value="${far}"]')?.selected === true`,
      patience,
    );
    return holdsNothing([...wrong, ...(label === `Far away (${key}, disabled)` ? [] : [label])]);
  });

  await check('a person with a user reads documents of an agent, and stores only their own', async () => {
    const path = `/v1/agents/${agent}/memory/documents`;
    await api(`${path}/shared.md`, admin, { text: 'The moat is deep.' }, 'PUT');
    const body = { name: 'Of a reader', role: 'user', user_id: `reader-${stamp}` };
    const reader = await api<{ key: string }>('/v1/api-keys', admin, body);
    await logInAfresh(page, reader.body.key, `/app/memory/${agent}`);
    await settle(page);
    await click(page, 'Open shared.md');
    await page.waitForSelector('dialog .note', patience);
    const buttons = await page.$$('dialog button.primary, button[aria-label="Delete shared.md"]');
    const wrong = [...(await faults(page)), ...(buttons.length === 0 ? [] : ['it can be changed'])];
    await page.keyboard.press('Escape');
    await closed(page);
    await click(page, 'Store a document');
    await fill(page, 'Path', 'mine.md');
    await fill(page, 'Text', 'The gate is high.');
    await click(page, 'Store');
    await shows(page, /mine\.md/);
    const { body: mine } = await api<{ scope: string }>(`${path}/mine.md`, reader.body.key);
    const { body: shared } = await api<{ scope: string; text: string }>(`${path}/shared.md`, admin);
    if (mine.scope !== 'user') wrong.push(`the own one has the scope ${mine.scope}`);
    if (shared.text !== 'The moat is deep.') wrong.push(shared.text);
    return holdsNothing(wrong);
  });

  await check('a key is offered what the scopes of its maker include', async () => {
    const body = { name: 'Of a maker', role: 'admin', scopes: ['keys.write', 'agents.write', 'chat'] };
    const maker = await api<{ key: string }>('/v1/api-keys', admin, body);
    await logInAfresh(page, maker.body.key, '/app/keys');
    await click(page, 'Create a key');
    await page.waitForSelector('dialog fieldset', patience);
    const offered = await page.$$eval('dialog fieldset .check', (labels) =>
      labels.map((label) => String((label as { textContent: string | null }).textContent)),
    );
    return mustHold(offered.join() === 'chat,agents.read', offered.join());
  });

  await logInAfresh(page, owner, '/app/tenants');

  await check('no form of an owner has a fault by axe, or is wider than a phone', async () =>
    holdsNothing(
      await lookAtForms(page, [
        ['tenant', '/app/tenants', 'Create a tenant'],
        ['tenant-edited', `/app/tenants?q=${slug}`, `Edit ${slug}`],
        ['owner-key', '/app/owner-keys', 'Create a key'],
        ['owner-subscription', '/app/owner-subscriptions', 'Subscribe'],
        ['owner-transfer', '/app/transfers', 'Plan a transfer'],
        ['owner-policy', '/app/owner-policies', 'Create a policy'],
        ['owner-guardrail', '/app/owner-guardrails', 'Create a guardrail'],
      ]),
    ),
  );

  await check(
    'what a tenant has spent is shown with its new budget, also beyond the longest list',
    async () => {
      const spent = `meter[aria-label="Budget of ${slug} spent"]`;
      await go(page, `/app/tenants?q=${slug}`);
      await click(page, `Edit ${slug}`);
      await fill(page, 'Budget in USD', '5.50');
      await click(page, 'Save');
      await closed(page);
      await page.waitForSelector(spent, patience);
      const stop = await answering(page, '/owner/budgets?limit=200', () =>
        Promise.resolve({ data: [], has_more: true }),
      );
      await go(page, `/app/tenants?q=${slug}`);
      await page.waitForSelector(spent, patience);
      await stop();
      return null;
    },
  );

  await check('failures of a cut summary say that groups are missing', async () => {
    const stop = await answering(page, '/owner/usage/summary', async (target) => {
      const { body } = await api<object>(target, owner);
      return { ...body, truncated: true };
    });
    await go(page, '/app/');
    await shows(page, /The API left groups out/);
    await stop();
    return null;
  });

  await api(`/internal/v1/owner/tenants/${tenant.id}`, owner, { status: 'archived' }, 'PATCH');
} finally {
  await browser.close();
}
