import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { WebhookScheme } from '@gatehouse/contract/webhook-endpoints';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import type { VerifiableRequest } from './schemes.ts';
import { verify } from './verify.ts';

type Signed = Exclude<WebhookScheme, 'token'>;

const delivery = (headers: Record<string, string | string[]>, body: string | Buffer): VerifiableRequest => ({
  header: (name) => [headers[name] ?? []].flat(),
  body: Buffer.from(body),
});
/** The settings of the scheme `hmac` in `sent`. */
const inHeader = { header: 'X-Signature', encoding: 'base64', prefix: 'sha256=' } as const;

const isGenuine = (
  scheme: Signed,
  secret: string,
  { headers, body, nowS = 0 }: { headers: Record<string, string | string[]>; body: string; nowS?: number },
): boolean => verify(delivery(headers, body), { ...inHeader, scheme, secrets: [secret], nowS }) !== null;

describe('published examples', () => {
  it('of Standard Webhooks', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    };
    const example = { headers, body: '{"test": 2432232314}', nowS: 1_614_265_330 };
    expect(isGenuine('standard', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', example)).toBe(true);
  });

  it('of GitHub', () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    expect(isGenuine('github', "It's a Secret to Everybody", { headers, body: 'Hello, World!' })).toBe(true);
  });

  it('of Slack', () => {
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    };
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    expect(
      isGenuine('slack', '8f742231b10e8888abcd99yyyzzz85a5', { headers, body, nowS: 1_531_420_618 }),
    ).toBe(true);
  });
});

const nowS = 1_800_000_000;
const body = '{"alert":"disk"}';
const hmac = (secret: string | Buffer, text: string) => createHmac('sha256', secret).update(text);
const standardSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** The deliveries of each scheme's senders. */
const sent: Record<Signed, { secret: string; headers: Record<string, string> }> = {
  standard: {
    secret: standardSecret,
    headers: {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(nowS),
      'webhook-signature': `v1,${hmac(Buffer.alloc(32, 7), `msg_1.${nowS}.${body}`).digest('base64')}`,
    },
  },
  github: {
    secret: 's'.repeat(20),
    headers: { 'x-hub-signature-256': `sha256=${hmac('s'.repeat(20), body).digest('hex')}` },
  },
  stripe: {
    secret: 's'.repeat(20),
    headers: {
      'stripe-signature': `t=${nowS},v1=${hmac('s'.repeat(20), `${nowS}.${body}`).digest('hex')},v0=00`,
    },
  },
  slack: {
    secret: 's'.repeat(20),
    headers: {
      'x-slack-request-timestamp': String(nowS),
      'x-slack-signature': `v0=${hmac('s'.repeat(20), `v0:${nowS}:${body}`).digest('hex')}`,
    },
  },
  grafana: {
    secret: 's'.repeat(20),
    headers: {
      'x-grafana-alerting-timestamp': String(nowS),
      'x-grafana-alerting-signature': hmac('s'.repeat(20), `${nowS}:${body}`).digest('hex'),
    },
  },
  pagerduty: {
    secret: 's'.repeat(20),
    headers: {
      'x-pagerduty-signature': `v1=${'0'.repeat(64)},v1=${hmac('s'.repeat(20), body).digest('hex')}`,
    },
  },
  hmac: {
    secret: 's'.repeat(20),
    headers: { 'x-signature': `sha256=${hmac('s'.repeat(20), body).digest('base64')}` },
  },
  sentry: {
    secret: 's'.repeat(20),
    headers: { 'sentry-hook-signature': hmac('s'.repeat(20), body).digest('hex'), 'request-id': 'r1' },
  },
};

describe.each(Object.entries(sent) as [Signed, { secret: string; headers: Record<string, string> }][])(
  'a delivery of the scheme %s',
  (scheme, { secret, headers }) => {
    it('is genuine as its sender made it', () => {
      expect(isGenuine(scheme, secret, { headers, body, nowS })).toBe(true);
    });

    it('is not with a header missing or doubled, another body or another secret', () => {
      const needed = Object.keys(headers).filter((name) => name !== 'request-id');
      for (const name of needed) {
        const { [name]: value = '', ...others } = headers;
        expect([name, isGenuine(scheme, secret, { headers: others, body, nowS })]).toEqual([name, false]);
        const doubled = { ...headers, [name]: [value, value] };
        expect([name, isGenuine(scheme, secret, { headers: doubled, body, nowS })]).toEqual([name, false]);
      }
      expect(isGenuine(scheme, secret, { headers, body: `${body} `, nowS })).toBe(false);
      const other =
        scheme === 'standard' ? `whsec_${Buffer.alloc(32, 8).toString('base64')}` : 'x'.repeat(20);
      expect(isGenuine(scheme, other, { headers, body, nowS })).toBe(false);
    });

    it('is not under another scheme', () => {
      for (const [wrong, { secret: theirs }] of Object.entries(sent) as [Signed, { secret: string }][])
        if (wrong !== scheme) expect(isGenuine(wrong, theirs, { headers, body, nowS })).toBe(false);
    });

    it('is not with a character of a header changed, cut or added', () => {
      fc.assert(
        fc.property(
          fc.constantFrom(...Object.keys(headers).filter((name) => name.includes('signature'))),
          fc.nat(),
          fc.constantFrom('cut', 'other', 'added'),
          fc.constantFrom('0', 'a', 'Z', '=', ',', ' ', '+', '/', 'v', '.'),
          (name, at, how, character) => {
            const value = headers[name] ?? '';
            const index = at % value.length;
            const rest = how === 'added' ? value.slice(index) : value.slice(index + 1);
            const changed = `${value.slice(0, index)}${how === 'cut' ? '' : character}${rest}`;
            fc.pre(changed !== value && !changed.includes(value));
            fc.pre(!stillHas(scheme, changed, value));
            expect(isGenuine(scheme, secret, { headers: { ...headers, [name]: changed }, body, nowS })).toBe(
              false,
            );
          },
        ),
        { numRuns: 1_500 },
      );
    });
  },
);

/** Whether a list of signatures still has the right one. */
function stillHas(scheme: Signed, changed: string, value: string): boolean {
  // A last character with the same bits, and no padding: base64 of the same bytes.
  if (scheme === 'hmac')
    return Buffer.from(changed.slice(7), 'base64').equals(Buffer.from(value.slice(7), 'base64'));
  const right = value.split(/[ ,]/).filter((part) => !/^(?:v1=0+|v0=00|v1)$/.test(part));
  const split = changed.split(scheme === 'standard' ? ' ' : ',').map((part) => part.trim());
  if (scheme === 'standard') return split.includes(value);
  return (scheme === 'stripe' || scheme === 'pagerduty') && right.every((part) => split.includes(part));
}

it.each(['standard', 'stripe', 'slack', 'grafana'] as const)(
  'a delivery of %s is good for five minutes',
  (scheme) => {
    const { secret, headers } = sent[scheme];
    for (const [at, expected] of [
      [-300, true],
      [300, true],
      [-301, false],
      [301, false],
    ] as const)
      expect(isGenuine(scheme, secret, { headers, body, nowS: nowS + at })).toBe(expected);
  },
);

it('what the public library of Standard Webhooks signs is genuine', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 24, maxLength: 64 }),
      fc.stringMatching(/^[\w.-]{1,60}$/),
      fc.string({ unit: 'grapheme' }),
      (key, id, text) => {
        const own = `whsec_${Buffer.from(key).toString('base64')}`;
        const signature = new Webhook(own).sign(id, new Date(nowS * 1_000), text);
        const sentHeaders = {
          'webhook-id': id,
          'webhook-timestamp': String(nowS),
          'webhook-signature': signature,
        };
        expect(isGenuine('standard', own, { headers: sentHeaders, body: text, nowS })).toBe(true);
      },
    ),
  );
});

describe('a signature in a header that the tenant names', () => {
  const secret = 's'.repeat(20);
  const digest = hmac(secret, body).digest();
  const [hex, base64] = [digest.toString('hex'), digest.toString('base64')];
  const linear = { header: 'Linear-Signature', encoding: 'hex', prefix: '' } as const;
  const shopify = { header: 'X-Shopify-Hmac-SHA256', encoding: 'base64', prefix: '' } as const;
  const redmine = { header: 'X-Redmine-Signature-256', encoding: 'hex', prefix: 'sha256=' } as const;
  const spaced = { header: 'x-mac', encoding: 'hex', prefix: 'HMAC-SHA256 ' } as const;

  it.each([
    ['of Linear', linear, hex, true],
    ['of Linear in capitals', linear, hex.toUpperCase(), true],
    ['of Shopify', shopify, base64, true],
    ['of Shopify without padding', shopify, base64.slice(0, 43), true],
    ['of Redmine', redmine, `sha256=${hex}`, true],
    ['of Redmine in capitals', redmine, `sha256=${hex.toUpperCase()}`, true],
    ['behind a prefix with a space', spaced, `HMAC-SHA256 ${hex}`, true],
    ['without its prefix', redmine, hex, false],
    ['with another prefix', redmine, `sha1=${hex}`, false],
    ['with a prefix that is not expected', linear, `sha256=${hex}`, false],
    ['in another encoding', shopify, hex, false],
    ['in another encoding, the other way', linear, base64, false],
    ['in URL-safe base64', shopify, 'Aw-_'.padEnd(43, 'A'), false],
    ['of two values', linear, `${hex},${hex}`, false],
    ['of two headers', linear, [hex, hex], false],
    ['that is empty', redmine, 'sha256=', false],
  ])('%s', (_what, settings, value, expected) => {
    const headers = { [settings.header.toLowerCase()]: value };
    const genuine = verify(delivery(headers, body), { ...settings, scheme: 'hmac', secrets: [secret], nowS });
    expect(genuine).toEqual(expected ? { id: null, idIsSigned: false } : null);
  });

  it('may be of an empty body', () => {
    const headers = { 'linear-signature': hmac(secret, '').digest('hex') };
    expect(
      verify(delivery(headers, ''), { ...linear, scheme: 'hmac', secrets: [secret], nowS }),
    ).not.toBeNull();
  });
});

describe('a Standard Webhook under names of Svix', () => {
  const { secret, headers } = sent.standard;
  const underSvix = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'svix-'), value]),
  );
  const [signature = '', wrong] = [headers['webhook-signature'], `v1,${'A'.repeat(43)}=`];

  it('is genuine, and has the id of `svix-id`', () => {
    expect(verify(delivery(underSvix, body), { scheme: 'standard', secrets: [secret], nowS })).toEqual({
      id: 'msg_1',
      idIsSigned: true,
    });
    const versions = { ...underSvix, 'svix-signature': `v1a,x ${wrong} ${signature}` };
    expect(isGenuine('standard', secret, { headers: versions, body, nowS })).toBe(true);
    expect(isGenuine('standard', secret, { headers: underSvix, body, nowS: nowS + 301 })).toBe(false);
  });

  it.each([
    ['both sets, the same', { ...underSvix, ...headers }, true],
    [
      'both sets, with a wrong webhook-signature',
      { ...underSvix, ...headers, 'webhook-signature': wrong },
      false,
    ],
    ['both sets, with a wrong svix-signature', { ...headers, ...underSvix, 'svix-signature': wrong }, true],
    ['parts of both', { ...underSvix, 'svix-id': [], 'webhook-id': 'msg_1' }, false],
    ['svix-id sent twice', { ...underSvix, 'svix-id': ['msg_1', 'msg_1'] }, false],
  ])('with %s', (_what, mixed, expected) => {
    expect(isGenuine('standard', secret, { headers: mixed, body, nowS })).toBe(expected);
  });
});

it('either secret of a rotation will do', () => {
  const { secret, headers } = sent.github;
  const secrets = ['another secret of it', secret];
  expect(verify(delivery(headers, body), { scheme: 'github', secrets, nowS })).not.toBeNull();
});
