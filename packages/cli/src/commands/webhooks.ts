import { createHmac, randomUUID } from 'node:crypto';
import { Option, type Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { readText } from '../inputs.ts';
import { addShared, subcommand } from '../resource-commands.ts';
import { UsageError } from '../usage-error.ts';

interface SendOptions extends SharedOptions {
  endpoint?: string;
  channel?: string;
  scheme: Scheme;
  header?: string;
  encoding: 'hex' | 'base64';
  prefix: string;
  secret?: string;
  file: string;
  id?: string;
}

type Headers = Record<string, string>;
interface Signing {
  body: string;
  secret: string;
  id: string;
  /** Seconds since 1970. */
  at: number;
  hmac: { header: string | undefined; encoding: 'hex' | 'base64'; prefix: string };
}

const hex = (secret: string, text: string): string => createHmac('sha256', secret).update(text).digest('hex');

/** How the senders of each scheme prove what they send. */
const schemes = {
  standard: ({ body, secret, id, at }: Signing): Headers => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    const signature = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64');
    return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': `v1,${signature}` };
  },
  github: ({ body, secret, id }: Signing): Headers => ({
    'x-hub-signature-256': `sha256=${hex(secret, body)}`,
    'x-github-delivery': id,
  }),
  stripe: ({ body, secret, at }: Signing): Headers => ({
    'stripe-signature': `t=${at},v1=${hex(secret, `${at}.${body}`)}`,
  }),
  slack: ({ body, secret, at }: Signing): Headers => ({
    'x-slack-request-timestamp': String(at),
    'x-slack-signature': `v0=${hex(secret, `v0:${at}:${body}`)}`,
  }),
  grafana: ({ body, secret, at }: Signing): Headers => ({
    'x-grafana-alerting-timestamp': String(at),
    'x-grafana-alerting-signature': hex(secret, `${at}:${body}`),
  }),
  pagerduty: ({ body, secret }: Signing): Headers => ({ 'x-pagerduty-signature': `v1=${hex(secret, body)}` }),
  sentry: ({ body, secret, id }: Signing): Headers => ({
    'sentry-hook-signature': hex(secret, body),
    'request-id': id,
  }),
  hmac: ({ body, secret, hmac: { header, encoding, prefix } }: Signing): Headers => {
    if (header === undefined) throw new UsageError('Give --header, the one of the endpoint.');
    return { [header]: prefix + createHmac('sha256', secret).update(body).digest(encoding) };
  },
  token: ({ secret }: Signing): Headers => ({ authorization: `Bearer ${secret}` }),
};
type Scheme = keyof typeof schemes;

/** `webhooks send`: tries an endpoint or a channel as its sender would. */
export function addWebhooks(program: Command, context: Context): void {
  const webhooks = subcommand(program, 'webhooks');
  addShared(webhooks.command('send'))
    .description('sign a payload and send it to an endpoint or a channel')
    .option('--endpoint <id>')
    .option('--channel <id>', 'a channel of type generic')
    .addOption(
      new Option('--scheme <scheme>', 'of the endpoint').choices(Object.keys(schemes)).default('standard'),
    )
    .option('--header <name>', 'scheme hmac: the header with the signature')
    .addOption(
      new Option('--encoding <encoding>', 'scheme hmac: of the signature')
        .choices(['hex', 'base64'])
        .default('hex'),
    )
    .option('--prefix <text>', 'scheme hmac: the text before the signature', '')
    .option('--secret <secret>', 'of the endpoint or channel; GATEHOUSE_WEBHOOK_SECRET by default')
    .option('-f, --file <file>', 'the payload; standard input by default', '-')
    .option('--id <id>', 'of the delivery: the same id gets the same answer; made up by default')
    .addHelpText(
      'after',
      '\nExample:\n  echo \'{"input":"Hello."}\' | gatehouse webhooks send --endpoint ID\n',
    )
    .action(async (options: SendOptions) => {
      const { endpoint, channel, scheme, header, encoding, prefix, id = randomUUID() } = options;
      const secret = options.secret ?? context.surroundings.environment['GATEHOUSE_WEBHOOK_SECRET'];
      if (secret === undefined) throw new UsageError('Give --secret, or set GATEHOUSE_WEBHOOK_SECRET.');
      if ((endpoint === undefined) === (channel === undefined))
        throw new UsageError('Give one of --endpoint and --channel.');
      const body = await readText(options.file, context.surroundings.stdin);
      const client = await context.client(options);
      const path =
        endpoint !== undefined
          ? `/v1/webhooks/llm?endpoint=${encodeURIComponent(endpoint)}`
          : `/v1/webhooks/message?channel=${encodeURIComponent(channel ?? '')}`;
      const hmac = { header, encoding, prefix };
      const headers = schemes[scheme]({ body, secret, id, at: Math.floor(Date.now() / 1_000), hmac });
      const answer = await client.json({
        ...{ method: 'POST', path, body, headers, withoutKey: true },
        contentType: 'application/json',
      });
      context.output(options).answer(answer);
    });
}
