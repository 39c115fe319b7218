import { sleep } from '@gatehouse/kit/clock';
import type { Page } from 'puppeteer-core';
import { launchBrowser, picture } from './browser.ts';
import {
  api,
  credentials,
  faults,
  holdsNothing,
  logInAfresh,
  logOut,
  origin,
  patience,
  settle,
  shownUsd,
  textOf,
} from './page-driver.ts';
import { check, mustHold } from './step.ts';

/** A part of 32-pages.sh: the content of a run, refused requests, and the spending of all tenants. */

const settings = '/v1/tenant/settings';

/** Sends a question and returns the id of its run. */
async function ask(content: string, model = 'gpt-4.1-mini', user?: string): Promise<string> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${credentials.admin_key}`,
      'content-type': 'application/json',
      ...(user !== undefined && { 'x-service-user-id': user }),
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content }] }),
  });
  await response.arrayBuffer();
  return response.headers.get('x-run-id') ?? '';
}

/** Waits until the API has something. */
async function until(target: string, key: string, isThere: (text: string) => boolean): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    const { status, body } = await api(target, key);
    if (status === 200 && isThere(JSON.stringify(body))) return;
    await sleep(500);
  }
  throw new Error(`${target} has it not after a minute`);
}

async function openContent(page: Page, run: string): Promise<string> {
  await until(`/v1/traces/${run}`, credentials.admin_key, (text) => !text.includes('"running"'));
  await page.goto(`${origin}/app/traces/${run}`);
  const tab = await page.waitForSelector('::-p-aria([name="Content"][role="tab"])', patience);
  await tab?.click();
  await settle(page);
  await page.waitForFunction(`/stored|Messages/.test(document.querySelector('main').textContent)`, patience);
  return textOf(page, 'main');
}

const texts = (page: Page, selector: string): Promise<string[]> =>
  page.$$eval(selector, (elements) =>
    elements.map((element) => String((element as { textContent: string | null }).textContent)),
  );

const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: 900 });

  await check('a trace shows what was sent and received, or why it does not', async () => {
    const { admin_key: key } = credentials;
    const before = await api<{ content: string }>(settings, key);
    await api(settings, key, { content: 'previews' }, 'PATCH');
    await logInAfresh(page, key, '/app/traces');
    const short = await openContent(page, await ask('Say the word barbican.'));
    const wrong = await faults(page);
    if (!short.includes('Settings') || !short.includes('barbican')) wrong.push(short);
    await api(settings, key, { content: 'full' }, 'PATCH');
    // Replicas know a setting after some seconds.
    await sleep(5_000);
    const run = await ask('Say the word bailey.');
    await until(`/v1/traces/${run}/content`, key, (text) => text.includes('bailey'));
    const whole = await openContent(page, run);
    await api(settings, key, { content: before.body.content }, 'PATCH');
    wrong.push(...(await faults(page)));
    await picture(page, 'pages-trace-content.png');
    for (const part of ['Messages', 'Say the word bailey.', 'Response', 'Parameters of the request'])
      if (!whole.includes(part)) wrong.push(`there is no ${part}: ${whole}`);
    return holdsNothing(wrong);
  });

  await check('the steps of a run open to their facts', async () => {
    await page.evaluate(`document.querySelector('[role=tab]').click()`);
    await (await page.waitForSelector('.waterfall summary', patience))?.click();
    await page.waitForSelector('.waterfall [open] .facts', patience);
    const shown = await textOf(page, '.waterfall [open] .facts');
    const wrong = await faults(page);
    await picture(page, 'pages-trace-steps.png');
    return holdsNothing([...wrong, ...(/Provider.*Cost/.test(shown) ? [] : [shown])]);
  });

  await check('the step of an embedding shows its tokens', async () => {
    const { admin_key: key } = credentials;
    const response = await fetch(`${origin}/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'text-embedding-3-small', input: 'The moat is deep.' }),
    });
    await response.arrayBuffer();
    const run = response.headers.get('x-run-id') ?? '';
    await until(`/v1/traces/${run}`, key, (text) => text.includes('"ended_at":"'));
    await page.goto(`${origin}/app/traces/${run}`);
    await (await page.waitForSelector('.waterfall summary', patience))?.click();
    await page.waitForSelector('.waterfall [open] .facts', patience);
    const shown = await textOf(page, '.waterfall [open] .facts');
    return holdsNothing(/Kindembedding.*Tokens in\d/.test(shown) ? [] : [shown]);
  });

  await check(
    'the user that cost most is on the overview, and leads to the most expensive runs',
    async () => {
      const { admin_key: key } = credentials;
      const user = `spender-${Date.now()}`;
      for (const words of ['Short.', 'Long. '.repeat(2_000), 'Short.']) await ask(words, 'gpt-4.1', user);
      await until(`/v1/traces?user_id=${user}`, key, (text) => text.split('"ended_at":"').length === 4);
      await until(`/v1/usage/summary?user_id=${user}`, key, (text) => text.includes('"requests":3'));
      await page.goto(`${origin}/app/?period=today`);
      await (await page.waitForSelector(`a[href*="user_id=${user}"]`, patience))?.click();
      await page.waitForFunction(`location.pathname === '/app/traces'`, patience);
      await page.waitForSelector('tbody tr td:nth-child(7)', patience);
      await settle(page);
      const costs = (await texts(page, 'tbody tr td:nth-child(7)')).map((cost) => Number(cost.slice(1)));
      return mustHold(costs.length === 3 && Number(costs[0]) > Number(costs[1]), costs.join());
    },
  );

  await check('refused requests are listed by code, each with the next step', async () => {
    const { admin_key: key } = credentials;
    await ask('Say nothing.', 'no-such-model');
    await until('/v1/traces?status=refused', key, (text) => text.includes('no-such-model'));
    await until('/v1/usage/summary?group_by=error_code', key, (text) => text.includes('model_not_found'));
    await page.goto(`${origin}/app/traces?status=refused&period=today`);
    await settle(page);
    const shown = await textOf(page, 'main');
    const wrong = await faults(page);
    await picture(page, 'pages-refused.png');
    const link = await page.waitForSelector('tbody a[href*="error_code=model_not_found"]', patience);
    await link?.click();
    await settle(page);
    const rows = await texts(page, 'tbody tr td:nth-child(2)');
    await logOut(page);
    return holdsNothing([
      ...wrong,
      ...(shown.includes('Choose a model of the catalogue.') ? [] : [shown]),
      ...(rows.length > 0 && rows.every((code) => code === 'model_not_found') ? [] : [rows.join()]),
    ]);
  });

  await check('an owner sees spending, budgets and new tenants, each leading to a tenant', async () => {
    const { owner_key: key } = credentials;
    const slug = `budgeted-${Date.now()}`;
    const body = { slug, name: slug, budget: { usd: '0', period: 'month' } };
    const tenant = await api<{ id: string }>('/internal/v1/owner/tenants', key, body);
    const asked = page.waitForRequest((request) => request.url().includes('/owner/costs/summary'), patience);
    await logInAfresh(page, key, '/app/?period=7d');
    const { pathname, search } = new URL((await asked).url());
    await settle(page);
    const shown = await page.$eval('[data-figure=total_usd]', (figure) =>
      String((figure as { title?: string }).title),
    );
    const costs = await api<{ total_usd: string }>(pathname + search, key);
    const captions = await texts(page, 'caption');
    const wrong = await faults(page);
    await picture(page, 'pages-spending.png');
    const links = await page.$$(`tbody a[href*="${tenant.body.id}"]`);
    await links[0]?.click();
    await page.waitForFunction(`location.search.includes('by=model')`, patience);
    await settle(page);
    const chips = await textOf(page, '.chips');
    await logOut(page);
    return holdsNothing([
      ...wrong,
      ...(shown === shownUsd(costs.body.total_usd) ? [] : [`${shown}, not ${costs.body.total_usd}`]),
      ...['Budgets closest to their limit', 'New tenants'].filter((caption) => !captions.includes(caption)),
      ...(links.length === 2 ? [] : [`${links.length} links to the new tenant`]),
      ...(chips.includes(slug) ? [] : [chips]),
    ]);
  });
} finally {
  await browser.close();
}
