import { freePort } from '@gatehouse/local/ports';
import { ProviderServer, ZaloAccount } from '@gatehouse/test/channel-providers';
import { eventually } from '@gatehouse/test/eventually';
import { LocalSystem, makeStateFolder } from '@gatehouse/test/local-system';
import { makeTenant } from '@gatehouse/test/tenants';
import type { Page } from 'puppeteer-core';
import { launchBrowser, picture } from './browser.ts';
import { check, mustHold } from './step.ts';

/** A step of `make test-outside` (55-zalo-consent.sh): see test/outside/README.md. */

const replicas = ['webhook-1', 'webhook-2'];

const account = new ZaloAccount();
const zalo = await ProviderServer.start((call) => account.answer(call));
const { folder, remove } = await makeStateFolder();
const port = await freePort();
const gateway = `http://127.0.0.1:${port}`;
const local = new LocalSystem(folder, {
  ...{ PORT: String(port), LOG_LEVEL: 'error', GATEHOUSE_REPLICAS: 'webhook=2', PUBLIC_URL: gateway },
  ...{ ZALO_API_URL: zalo.url, ZALO_OAUTH_URL: zalo.url },
});

/** Ends every process of webhook, so that others go on. */
async function replaceReplicas(): Promise<void> {
  for (const name of replicas) {
    const { pid } = local.processOf(name);
    local.signal(name, 'SIGKILL');
    await eventually(async () => {
      const now = local.processOf(name).pid;
      if (now === null || now === pid) throw new Error(`${name} does not run`);
    });
  }
}

const textOf = async (page: Page): Promise<string> =>
  String(await page.evaluate('document.title + " " + document.body.innerText'));

try {
  const { owner_key: ownerKey } = await local.ready();
  const { adminKey, slug } = await makeTenant({ url: gateway, ownerKey });
  const call = async (method: string, route: string, body?: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const answer = await fetch(gateway + route, { method, headers, body: JSON.stringify(body) });
    return (await answer.json()) as Record<string, string>;
  };
  const { id: agent_id } = await call('POST', '/v1/agents', { key: 'support', model: 'gpt-4.1-mini' });
  const { id = '' } = await call('POST', '/v1/channels/instances', {
    ...{ type: 'zalo_oa', name: 'Support <b>on Zalo</b>', agent_id, config: { app_id: '777' } },
    credentials: { app_secret: 'zalo-app-secret', oa_secret: 'zalo-oa-secret' },
  });
  const instance = `/v1/channels/instances/${id}`;
  const { url = '' } = await call('POST', `${instance}/zalo-oa/consent-links`, {});

  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => complaints.push(message.text()));

    await check('a link preview does not use the link up', async () => {
      const previews = [await fetch(url), await fetch(url, { method: 'HEAD' })];
      return mustHold(previews[0]?.status === 200, String(previews.map(({ status }) => status)));
    });
    await check('the page names the tenant, the channel and who asks', async () => {
      await page.goto(url);
      await picture(page, 'consent.png');
      const text = await textOf(page);
      const wanted = [slug, 'Support <b>on Zalo</b>', 'key '];
      return mustHold(
        wanted.every((part) => text.includes(part)),
        text,
      );
    });
    await check('its button leads to Zalo', async () => {
      await Promise.all([page.waitForNavigation(), page.click('button')]);
      return mustHold(page.url().startsWith(`${zalo.url}/v4/oa/permission?`), page.url());
    });
    await check('another process finishes what one has begun', async () => {
      await replaceReplicas();
      await eventually(async () => {
        const { id: answered } = await call('GET', instance);
        if (answered !== id) throw new Error('webhook is not reachable');
      });
      await Promise.all([page.waitForNavigation(), page.click('a')]);
      await picture(page, 'consent-end.png');
      const text = await textOf(page);
      const { status } = await call('GET', instance);
      return mustHold(text.startsWith('Connected') && status === 'connected', `${text} ${status}`);
    });
    await check('the link is used up', async () => {
      const answer = await page.goto(url);
      const text = await textOf(page);
      return mustHold(answer?.status() === 410 && text.includes('no longer valid'), text);
    });
    await check('the browser reports no violation and no error', async () => {
      // There is no icon, and a used link is gone.
      const others = complaints.filter((text) => !/status of (404|410)/.test(text));
      return mustHold(others.length === 0, others.join('; '));
    });
  } finally {
    await browser.close();
  }
} finally {
  await local.stop();
  await zalo.stop();
  await remove();
}
