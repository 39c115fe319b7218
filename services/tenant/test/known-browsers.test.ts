import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { IssuerBrowser } from './issuer-browser.ts';
import { IssuerGround } from './issuer-ground.ts';

let ground: IssuerGround;
beforeAll(async () => {
  ground = await IssuerGround.start();
});
afterAll(() => ground.stop());
afterEach(() => ground.mend());

describe('a browser in which a person has logged in before', () => {
  it('logs in while answers that prove nothing fill the places of its network, also at another issuer', async () => {
    const { main } = ground.issuers;
    const network = '203.0.113.54';
    const known = new IssuerBrowser(ground.tenants, network);
    expect((await ground.logIn({ sub: 'kim' }, { browser: known })).answer.status).toBe(303);
    await known.visit('/logout', { method: 'POST' });
    const visitor = new IssuerBrowser(ground.tenants, network);
    const [begunHere, begunThere] = [
      await known.visit('/login/oidc/main'),
      await visitor.visit('/login/oidc/other'),
    ];
    const flood = await Promise.all(
      Array.from({ length: 68 }, async () => {
        const browser = new IssuerBrowser(ground.tenants, network);
        return { browser, begun: await browser.visit('/login/oidc/main') };
      }),
    );
    const held = Promise.withResolvers<undefined>();
    const before = main.calls.length;
    main.held = held.promise;
    main.claims = { sub: 'kim' };
    const answers = flood.map(({ browser, begun }) => browser.visit(ground.answerTo(begun)));
    await eventually(() => expect(main.calls).toHaveLength(before + 4));
    const logsIn = known.visit(ground.answerTo(begunHere));
    await eventually(() => expect(main.calls).toHaveLength(before + 5));
    expect((await visitor.visit(ground.answerTo(begunThere, { from: 'other' }))).status).toBe(303);
    held.resolve(undefined);
    expect((await logsIn).status).toBe(303);
    await Promise.all(answers);
  });

  it('logs in with its network while others who have its mark take all places of its person', async () => {
    const { main } = ground.issuers;
    const known = new IssuerBrowser(ground.tenants, '203.0.113.55');
    expect((await ground.logIn({ sub: 'max' }, { browser: known })).answer.status).toBe(303);
    await known.visit('/logout', { method: 'POST' });
    const begun = await known.visit('/login/oidc/main');
    // Ten take the places of the person, and four those of their network.
    const thieves = await Promise.all(
      Array.from({ length: 14 }, async () => {
        const browser = new IssuerBrowser(ground.tenants, '198.51.100.9');
        const mark = known.cookies.get('__Host-gatehouse-browser') ?? '';
        browser.cookies.set('__Host-gatehouse-browser', mark);
        return { browser, page: await browser.visit('/login/oidc/main') };
      }),
    );
    const held = Promise.withResolvers<undefined>();
    const before = main.calls.length;
    main.held = held.promise;
    main.claims = { sub: 'max' };
    const answers = thieves.map(({ browser, page }) =>
      browser.visit(ground.answerTo(page, { fields: { code: 'wrong' } })),
    );
    await eventually(() => expect(main.calls).toHaveLength(before + 6));
    const logsIn = known.visit(ground.answerTo(begun));
    await eventually(() => expect(main.calls).toHaveLength(before + 7));
    held.resolve(undefined);
    expect((await logsIn).status).toBe(303);
    expect((await Promise.all(answers)).map(({ status }) => status)).not.toContain(429);
  });

  it('is not one whose mark was sealed elsewhere, and the mark opens no session', async () => {
    const { browser } = await ground.logIn({ sub: 'lea' });
    const mark = browser.cookies.get('__Host-gatehouse-browser') ?? '';
    expect(mark).toMatch(/^[\w-]{80,}$/);
    const other = new IssuerBrowser(ground.tenants);
    other.cookies.set('__Host-gatehouse-browser', mark);
    expect((await other.visit('/login')).text).toContain('name="key"');
    other.cookies.set('__Host-gatehouse-browser', `A${mark.slice(1)}`);
    expect((await ground.logIn({ sub: 'lea' }, { browser: other })).answer.status).toBe(303);
  });
});
