import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sleep } from '@gatehouse/kit/clock';
import { newId } from '@gatehouse/kit/ids';
import { makeTenant } from '@gatehouse/test/tenants';
import type { Page } from 'puppeteer-core';
import { launchBrowser } from './browser.ts';
import { attacksWith, type Attack } from './page-attack-table.ts';
import { api, credentials, holdsNothing, logIn, logOut, origin, patience, settle } from './page-driver.ts';
import { check } from './step.ts';

/** A part of 32-pages.sh: attacks on a person who is logged in, by other origins, links and names. */

/** Listens at a port of its own; all its pages are empty. */
async function startAttacker(host: string): Promise<Server> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>Attacker</title><body>');
  });
  server.listen(0, host);
  await once(server, 'listening');
  return server;
}

const originOf = (server: Server): string => {
  const { address, port } = server.address() as AddressInfo;
  return `http://${address}:${port}`;
};

const victim = await makeTenant({ url: origin, ownerKey: credentials.owner_key });
const attackerKey = credentials.user_key;

/** Everything that an attack could change: the audit log has each change. */
async function changesOf(page: Page): Promise<string> {
  const [{ body }, cookies] = [
    await api<{ data: { id: string }[] }>('/v1/audit-log', victim.adminKey),
    await page.browserContext().cookies(),
  ];
  return JSON.stringify([
    body.data.map(({ id }) => id),
    cookies.map(({ name, value, path }) => [name, value, path]),
  ]);
}

interface Outcome {
  read: unknown;
  statuses: number[];
}

/**
 * The statuses by which the gateway answers a page, also of answers that the browser keeps from it. Those of preflights
 * are left out.
 */
async function statusesFor(page: Page): Promise<() => number[]> {
  const handshakes: number[] = [];
  const asked = new Set<string>();
  // An answer may be reported before its request.
  const answered: { id: string; status: number }[] = [];
  const devtools = await page.createCDPSession();
  await devtools.send('Network.enable');
  devtools.on('Network.requestWillBeSent', ({ requestId, request: { url, method } }) => {
    if (url.startsWith(origin) && method !== 'OPTIONS' && !url.endsWith('.ico')) asked.add(requestId);
  });
  // A handshake that failed is reported by this text alone.
  devtools.on('Network.webSocketFrameError', ({ errorMessage }) => {
    handshakes.push(Number(/response code: (\d+)/.exec(errorMessage)?.[1]));
  });
  devtools.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
    answered.push({ id: requestId, status: statusCode });
  });
  return () => [...answered.flatMap(({ id, status }) => (asked.has(id) ? [status] : [])), ...handshakes];
}

/** Runs an attack in a page of another origin, of the same browser. */
async function run(page: Page, attacker: string, { script, refused }: Attack): Promise<Outcome> {
  const attacking = await page.browserContext().newPage();
  try {
    await attacking.goto(attacker);
    const statusesNow = await statusesFor(attacking);
    const read = await attacking
      .evaluate(`(async (gateway) => { ${script} })(${JSON.stringify(origin)})`)
      .catch((error: unknown) => (/context was destroyed/.test(String(error)) ? '' : String(error)));
    for (let tries = 0; statusesNow().length === 0 && refused[0] !== null && tries < 400; tries += 1)
      await sleep(50);
    return { read, statuses: statusesNow() };
  } finally {
    await attacking.close();
  }
}

/** The faults that an attack from an origin has shown. */
async function achieved(
  page: Page,
  attacker: string,
  attack: Attack,
  status: number | null,
): Promise<string[]> {
  const before = await changesOf(page);
  const { read, statuses } = await run(page, attacker, attack);
  const expected = status === null ? '' : String(status);
  return [
    ...(statuses.join() === expected
      ? []
      : [`${attacker} was answered with ${statuses.join() || 'nothing'}`]),
    ...(read === '' ? [] : [`${attacker} has read ${String(read).slice(0, 100)}`]),
    ...((await changesOf(page)) === before ? [] : [`${attacker} has changed something`]),
  ];
}

/** The status of the session in a page of the gateway, with other headers. */
const sessionStatus = (page: Page, headers: Record<string, string> = {}): Promise<unknown> =>
  page.evaluate(
    `fetch('/v1/session', { headers: ${JSON.stringify({ 'x-gatehouse-page': '1', ...headers })} })
       .then((answer) => answer.status)`,
  );

const browser = await launchBrowser();
const [samePort, otherSite] = [await startAttacker('127.0.0.1'), await startAttacker('127.0.0.2')];
try {
  const page = await browser.newPage();
  await page.setViewport({ width: 1_280, height: 900 });

  await check('a cookie that another page has set is no session', async () => {
    const attacking = await browser.newPage();
    await attacking.goto(originOf(samePort));
    const fixed = 'f'.repeat(43);
    await attacking.evaluate(`document.cookie = 'gatehouse=${fixed}; path=/'`);
    await attacking.close();
    await logIn(page, victim.adminKey, '/app/');
    const [cookie] = (await browser.cookies()).filter(({ name }) => name === 'gatehouse');
    return holdsNothing([
      ...(cookie === undefined || cookie.value === fixed ? ['the login kept it'] : []),
      ...(cookie?.httpOnly === true && cookie.sameSite === 'Lax' ? [] : ['the session is open to scripts']),
    ]);
  });

  for (const attack of attacksWith(attackerKey))
    await check(`${attack.name}, of another port or another site, is refused`, async () => {
      const [sameSite, crossSite] = attack.refused;
      return holdsNothing([
        ...(await achieved(page, originOf(samePort), attack, sameSite)),
        ...(await achieved(page, originOf(otherSite), attack, crossSite)),
      ]);
    });

  await check('no page of another origin frames or holds one of the gateway', async () => {
    const wrong: string[] = [];
    for (const attacker of [samePort, otherSite].map(originOf)) {
      const attacking = await browser.newPage();
      await attacking.goto(attacker);
      for (const target of ['/app/', '/login', '/device', '/api-docs']) {
        await attacking.evaluate(`new Promise((resolve) => {
          const frame = document.createElement('iframe');
          frame.onload = frame.onerror = resolve;
          frame.src = ${JSON.stringify(origin + target)};
          document.body.replaceChildren(frame);
        })`);
        const [framed] = attacking.mainFrame().childFrames();
        if (framed !== undefined && framed.url().startsWith(origin))
          wrong.push(`${attacker} frames ${target}`);
      }
      const opened = new Promise<Page | null>((resolve) => void attacking.once('popup', resolve));
      await attacking.evaluate(`void (globalThis.opened = open(${JSON.stringify(`${origin}/app/`)}))`);
      const popup = await opened;
      await popup?.waitForSelector('h1', patience);
      const isHeld = await attacking.evaluate('!globalThis.opened.closed');
      if (isHeld === true) wrong.push(`${attacker} holds the window that it has opened`);
      await popup?.close();
      await attacking.close();
    }
    return holdsNothing(wrong);
  });

  await check('a key beside the session is refused', async () => {
    await page.goto(`${origin}/app/`);
    await settle(page);
    const given = { authorization: `Bearer ${attackerKey}` };
    const statuses = [await sessionStatus(page), await sessionStatus(page, given)].join();
    return holdsNothing(statuses === '200,400' ? [] : [statuses]);
  });

  await check('a session of the attacker beside that of a person is refused', async () => {
    const answer = await fetch(`${origin}/login/key`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      body: JSON.stringify({ key: attackerKey }),
    });
    const [theirs = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
    const attacking = await browser.newPage();
    await attacking.goto(originOf(samePort));
    await attacking.evaluate(`document.cookie = '${theirs}; path=/v1'`);
    const statuses = [answer.status, await sessionStatus(page)].join();
    await attacking.evaluate(`document.cookie = 'gatehouse=; path=/v1; max-age=0'`);
    await attacking.close();
    return holdsNothing(statuses === '200,401' ? [] : [statuses]);
  });

  await check('names of tenants, agents and keys reach neither headers nor markup', async () => {
    const name = `"\r\nSet-Cookie: injected=1\r\n\r\n<img src=x onerror="document.title='injected'">`;
    await api('/v1/agents', victim.adminKey, {
      key: 'named',
      model: 'gpt-4.1-mini',
      name,
      description: name,
    });
    const made = await api<{ key: string }>('/v1/api-keys', victim.adminKey, { name, role: 'admin' });
    await api('/internal/v1/owner/tenants', credentials.owner_key, { slug: `t-${newId().slice(-12)}`, name });
    const wrong: string[] = [];
    const inspect = async (key: string, targets: readonly string[]): Promise<void> => {
      await logOut(page);
      await logIn(page, key, '/app/');
      for (const target of targets) {
        await page.goto(origin + target);
        if (target.startsWith('/app/')) await settle(page);
        const shown: unknown = await page.evaluate(
          `[document.title, document.querySelector('img') === null, document.querySelector('main').innerText.includes('<img')].join()`,
        );
        if (!/^(?!injected).*,true,true$/.test(String(shown))) wrong.push(`${target}: ${String(shown)}`);
      }
    };
    await inspect(made.body.key, ['/app/agents', '/app/keys', '/app/sessions', '/login']);
    await inspect(credentials.owner_key, ['/app/tenants?q=Set-Cookie']);
    const injected = (await browser.cookies()).filter((cookie) => cookie.name === 'injected');
    return holdsNothing([...wrong, ...injected.map(({ domain }) => `a cookie of ${domain}`)]);
  });

  await check('a login leads to no other origin', async () => {
    const { host } = new URL(originOf(otherSite));
    const wrong: string[] = [];
    await logOut(page);
    for (const target of [
      ...[`http://${host}/`, `//${host}/`, `/\\${host}/`, `/\t/${host}/`],
      ...[`/app/..//${host}/`, 'javascript:alert(1)', `/app/\r\nLocation: http://${host}/`],
    ]) {
      await page.goto(`${origin}/login?return_to=${encodeURIComponent(target)}`);
      await page.type('#key', victim.userKey);
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
      if (new URL(page.url()).origin !== origin) wrong.push(`${target} leads to ${page.url()}`);
      // Pages without a session would go to the login by themselves, in the middle of the next one.
      await page.goto('about:blank');
      await page.browserContext().deleteCookie(...(await page.browserContext().cookies()));
    }
    return holdsNothing(wrong);
  });
} finally {
  await browser.close();
  samePort.close();
  otherSite.close();
}
