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
  origin,
  patience,
  settle,
  textOf,
} from './page-driver.ts';
import { check } from './step.ts';

/** A step of `make test-outside` (32-pages.sh): resources that pages change, rotate and delete. */

const admin = credentials.admin_key;
const agentID = async (): Promise<string> =>
  (await api<{ id: string }>(`/v1/agents/${credentials.agent_key}`, admin)).body.id;

/** Waits until the text of the page has it. */
async function shows(page: Page, text: RegExp): Promise<void> {
  await page.waitForFunction(`${String(text)}.test(document.querySelector('main').textContent)`, patience);
}

async function go(page: Page, target: string): Promise<void> {
  await page.goto(origin + target);
  await settle(page);
}

/** Replaces the text of a field. */
async function retype(page: Page, label: string, value: string): Promise<void> {
  const field = await page.waitForSelector(`::-p-aria([name="${label}"][role="textbox"])`, patience);
  await field?.click({ count: 3 });
  await field?.type(value);
}

async function closed(page: Page): Promise<void> {
  await page.waitForFunction(`document.querySelector('dialog') === null`, patience);
}

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: 900 });
  await logInAfresh(page, admin, '/app/webhooks');

  await check('an endpoint is edited, and its secret rotated with an overlap', async () => {
    const body = { name: 'To edit', agent_id: await agentID() };
    const made = await api<{ id: string }>('/v1/webhooks/endpoints', admin, body);
    await go(page, '/app/webhooks');
    await click(page, 'Edit To edit');
    await retype(page, 'Deliveries per minute', '30');
    await retype(page, 'Allowed networks', 'no network');
    await click(page, 'Save');
    await page.waitForSelector('dialog [aria-invalid=true]', patience);
    await page.waitForFunction(
      `/^Check the marked field/.test(document.querySelector('dialog .problem').textContent)`,
      patience,
    );
    const wrong = await faults(page);
    await picture(page, 'pages-endpoint-error.png');
    await retype(page, 'Allowed networks', '192.0.2.0/24');
    await click(page, 'Save');
    await closed(page);
    await click(page, 'Rotate secret of To edit');
    await click(page, 'Rotate');
    await page.waitForSelector('dialog .secret', patience);
    wrong.push(...(await faults(page)));
    await click(page, 'I have stored it');
    const { body: endpoint } = await api<Record<string, unknown>>(
      `/v1/webhooks/endpoints/${made.body.id}`,
      admin,
    );
    if (endpoint['rate_limit_per_minute'] !== 30) wrong.push('the limit is not stored');
    if (String(endpoint['allowed_cidrs']) !== '192.0.2.0/24') wrong.push('the network is not stored');
    if (endpoint['previous_secret_expires_at'] === null) wrong.push('there is no overlap');
    await go(page, `/app/webhooks/${made.body.id}`);
    await shows(page, /gatehouse webhooks send/);
    return holdsNothing([...wrong, ...(await faults(page))]);
  });

  const tickets = await TestMcpServer.start([
    { name: 'search', run: () => said('Two tickets.') },
    { name: 'close', run: () => said('Closed.') },
  ]);
  await check('tools of an MCP server are ticked, and an agent gets one of them', async () => {
    const server = await api<{ id: string }>('/v1/mcp/servers', admin, { name: 'tickets', url: tickets.url });
    await go(page, '/app/mcp-servers');
    await click(page, '2 tools of tickets');
    await page.waitForSelector('dialog .tools input', patience);
    const wrong = await faults(page);
    // At once: the second click comes before the answer to the first.
    await page.evaluate(`document.querySelectorAll('dialog .tools input').forEach((box) => box.click())`);
    await shows(page, /0 of 2 tools/);
    await (await page.$$('dialog .tools input'))[1]?.click();
    await shows(page, /1 of 2 tools/);
    await page.keyboard.press('Escape');
    await go(page, `/app/agents/${credentials.agent_key}`);
    await page.waitForFunction(`/tickets: all tools/.test(document.body.textContent)`, patience);
    await page.evaluate(
      `[...document.querySelectorAll('label')].find((one) => one.textContent === 'tickets: all tools').click()`,
    );
    const saved = page.waitForResponse((response) => response.request().method() === 'PATCH', patience);
    await click(page, 'Save');
    await saved;
    const agent = await api<{ tools: { mcp_servers: string[] } }>(`/v1/agents/${await agentID()}`, admin);
    const names = agent.body.tools.mcp_servers;
    await settle(page);
    await picture(page, 'pages-workbench.png');
    wrong.push(...(await faults(page)));
    await api(`/v1/agents/${await agentID()}`, admin, { tools: { mcp_servers: [] } }, 'PATCH');
    await go(page, '/app/mcp-servers');
    await click(page, 'Delete tickets');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await closed(page);
    const { status } = await api(`/v1/mcp/servers/${server.body.id}`, admin);
    if (status !== 404) wrong.push(`the deleted server returned ${status}`);
    return holdsNothing([...wrong, ...(names.join() === 'tickets' ? [] : [names.join()])]);
  });
  await tickets.stop();

  await check('a channel is created with its steps, edited, and has a page', async () => {
    await go(page, '/app/channels');
    await click(page, 'Create a channel');
    await fill(page, 'Name', 'Desk');
    await page.waitForSelector(`option[value="${await agentID()}"]`, patience);
    await choose(page, 'Agent', await agentID());
    await fill(page, 'Callback URL', 'https://desk.example.com/replies');
    await click(page, 'Create');
    await page.waitForSelector('dialog .to-paste', patience);
    const wrong = await faults(page);
    await picture(page, 'pages-channel-created.png');
    await click(page, 'Close');
    await closed(page);
    await click(page, 'Edit Desk');
    await retype(page, 'Name', 'Front desk');
    await click(page, 'Save');
    await closed(page);
    await shows(page, /Front desk/);
    await page.evaluate(`document.querySelector('tbody a').click()`);
    await shows(page, /No message has come yet/);
    return holdsNothing([...wrong, ...(await faults(page))]);
  });

  await check('memory is exported, imported and forgotten, and an entity is added', async () => {
    await go(page, `/app/memory/${credentials.agent_key}`);
    await click(page, 'Forget');
    await fill(page, 'Path prefix', 'no/such/path');
    const wrong = await faults(page);
    await (await page.waitForSelector('dialog button.primary', patience))?.click();
    await shows(page, /Removed 0 documents/);
    await go(page, `/app/graph/${credentials.agent_key}`);
    await click(page, 'Add an entity');
    await fill(page, 'Name', 'Portcullis');
    await (await page.waitForSelector('::-p-aria([name="Type"][role="textbox"])'))?.type('gate');
    await click(page, 'Add');
    await shows(page, /Portcullis/);
    return holdsNothing([...wrong, ...(await faults(page))]);
  });

  await check(
    'a transfer of an agent takes its server along, and shows the address for its target',
    async () => {
      const name = `travelling-${Date.now()}`;
      const target = await api<{ id: string }>('/internal/v1/owner/tenants', credentials.owner_key, {
        ...{ slug: `to-${name}`, name: 'Target' },
      });
      const server = { name, url: 'http://127.0.0.1:9/mcp', verify: false };
      const { body: needed } = await api<{ id: string }>('/v1/mcp/servers', admin, server);
      const agent = { key: name, model: 'gpt-4.1-mini', tools: { mcp_servers: [name] } };
      const { body: traveller } = await api<{ id: string }>('/v1/agents', admin, agent);
      await go(page, '/app/transfers');
      await click(page, 'Plan a transfer');
      const box = `::-p-aria([name="Agent: ${name}"][role="checkbox"])`;
      await (await page.waitForSelector(box, patience))?.click();
      const wrong = await faults(page);
      await picture(page, 'pages-transfer-form.png');
      await fill(page, 'Target tenant', target.body.id);
      await click(page, 'Preview');
      await page.waitForSelector('.to-paste, dialog .problem', patience);
      if ((await page.$('dialog')) !== null) return textOf(page, 'dialog .problem');
      await shows(page, /MCP server/);
      wrong.push(...(await faults(page)));
      await api(`/v1/agents/${traveller.id}`, admin, undefined, 'DELETE');
      await api(`/v1/mcp/servers/${needed.id}`, admin, undefined, 'DELETE');
      return holdsNothing(wrong);
    },
  );

  await check('an owner subscribes to events and creates a key', async () => {
    await logInAfresh(page, credentials.owner_key, '/app/owner-subscriptions');
    await click(page, 'Subscribe');
    await fill(page, 'URL', 'https://ops.example.com/events');
    await page.evaluate(`document.querySelector('dialog input[type=checkbox]').click()`);
    await (await page.waitForSelector('dialog button.primary', patience))?.click();
    await page.waitForSelector('dialog .secret', patience);
    const wrong = await faults(page);
    await click(page, 'I have stored it');
    await click(page, 'Rotate signing secret of https://ops.example.com/events');
    await click(page, 'Rotate');
    await page.waitForSelector('dialog .secret', patience);
    await click(page, 'I have stored it');
    await click(page, 'Delete https://ops.example.com/events');
    await (await page.waitForSelector('dialog .danger', patience))?.click();
    await shows(page, /There is no subscription yet/);
    await go(page, '/app/owner-keys');
    await click(page, 'Create a key');
    await fill(page, 'Name', 'Second owner');
    await click(page, 'Create');
    await page.waitForSelector('dialog .secret', patience);
    const shown = await textOf(page, 'dialog .secret');
    wrong.push(...(await faults(page)));
    return holdsNothing([...wrong, ...(/gwk_/.test(shown) ? [] : [shown])]);
  });
} finally {
  await browser.close();
}
