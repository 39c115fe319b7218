import { execFile } from 'node:child_process';
import { verify } from '@gatehouse/service-webhook/signatures/verify';
import { newStandardSecret, standardHeaders } from '@gatehouse/service-webhook/signatures/signing-secret';

/**
 * A library of Standard Webhooks verifies what Gatehouse signs, rejects what was changed, and signs what Gatehouse
 * accepts: a part of steps of `make test-outside`. Its arguments are the command of a program around the library.
 */

interface Message {
  secret: string;
  headers: Record<string, string>;
  body: string;
}

interface Result {
  genuine: boolean;
  signature: string;
}

const bodies = [
  '{"type":"call.completed","timestamp":"2026-01-10T09:00:00.000Z","data":{"output":"Fine."}}',
  '{"output":"Störung behoben 🐘 \\u0000 \\n ü"}',
  '{}',
  `{"long":"${'x'.repeat(300_000)}"}`,
  ' { "spaced" : 1 } \n',
];

const now = new Date();

function messageOf(body: string, number: number): Message {
  const secret = newStandardSecret();
  return { secret, headers: standardHeaders([secret], { id: `msg_${number}`, at: now, body }), body };
}

const genuine = bodies.map(messageOf);
const forged = genuine.flatMap((message): Message[] => [
  { ...message, body: `${message.body} ` },
  { ...message, secret: newStandardSecret() },
  { ...message, headers: { ...message.headers, 'webhook-id': 'msg_other' } },
]);

/** Whether Gatehouse accepts a message with this signature. */
function accepts({ secret, headers, body }: Message, signature: string): boolean {
  const delivery = {
    header: (name: string) => [(name === 'webhook-signature' ? signature : headers[name]) ?? ''],
    body: Buffer.from(body),
  };
  const nowS = now.getTime() / 1_000;
  return verify(delivery, { scheme: 'standard', secrets: [secret], nowS }) !== null;
}

const [command = '', ...args] = process.argv.slice(2);
const child = execFile(command, args, { maxBuffer: 16 * 1024 * 1024, timeout: 300_000 }, (error, stdout) => {
  if (error !== null) throw new Error('the program failed', { cause: error });
  const results = JSON.parse(stdout) as Result[];
  const own = results.slice(0, genuine.length);
  const others = results.slice(genuine.length);
  report(
    'verifies what Gatehouse signs',
    own.every((result) => result.genuine),
  );
  report('rejects what was changed', others.length === forged.length && !others.some((each) => each.genuine));
  report(
    'signs what Gatehouse accepts',
    genuine.every((message, index) => accepts(message, own[index]?.signature ?? '')),
  );
});
child.stdin?.end(JSON.stringify([...genuine, ...forged]));

function report(what: string, passed: boolean): void {
  console.log(passed ? `ok: ${what}` : `failed: ${what}`);
  if (!passed) process.exitCode = 1;
}
