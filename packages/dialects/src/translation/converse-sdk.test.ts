import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
  type ConverseCommandInput,
} from '@aws-sdk/client-bedrock-runtime';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { bedrockConverseTranslation } from '../bedrock-converse/translation.ts';
import { exceptionFrame } from '@gatehouse/test/aws-frames';
import { ConverseWriter, writeAnswer } from '@gatehouse/test/converse-provider';
import { writeJson } from '../wire/json-text.ts';
import { DroppedFields } from './dropped-fields.ts';
import { fieldNames } from '../openai-chat/request-reader.ts';
import { answers, conversations, eventsOf, facts } from '@gatehouse/test/translation-samples';
import type { Conversation } from './conversation.ts';

/** Amazon's own client as the judge of requests, and of the answers that the other tests read. */

const claude = { ...facts, name: 'anthropic.claude-sonnet-4-5-20250929-v1:0' };
let server: Http2Server;
let client: BedrockRuntimeClient;
let asked = '';
let answer: { type: string; bytes: Buffer };

beforeAll(async () => {
  server = createServer((request, response) => {
    void textOf(request).then((body) => {
      asked = body;
      response.writeHead(200, { 'content-type': answer.type }).end(answer.bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  client = new BedrockRuntimeClient({
    region: 'us-east-1',
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
    maxAttempts: 1,
  });
});

afterAll(async () => {
  client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Bytes as the client wants them, which writes them in base64. */
function withBytes(value: unknown, name = ''): unknown {
  if ((name === 'bytes' || name === 'redactedContent') && typeof value === 'string')
    return Buffer.from(value, 'base64');
  if (Array.isArray(value)) return value.map((each) => withBytes(each));
  return isFields(value)
    ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withBytes(each, key)]))
    : value;
}

/** Converse has no images by address, and the client writes base64 without stray bits. */
function isWritten(conversation: Conversation): boolean {
  const parts = conversation.turns.flatMap((turn) => turn.parts);
  return parts.every((part) => part.kind !== 'image' || ('data' in part.source && isPlain(part.source.data)));
}

function isPlain(base64: string): boolean {
  return Buffer.from(base64, 'base64').toString('base64') === base64;
}

describe('a request in Converse', () => {
  it('is what Amazon’s client sends', async () => {
    answer = { type: 'application/json', bytes: Buffer.from('{"output":{},"usage":{},"metrics":{}}') };
    await fc.assert(
      fc.asyncProperty(conversations.filter(isWritten), async (conversation) => {
        const written = bedrockConverseTranslation.writeRequest(
          { ...conversation, reasoning: { isOn: true, effort: 'high', budget: null } },
          { ...claude, name: 'us.anthropic.claude-opus-4-6-v1' },
          new DroppedFields(fieldNames),
        );
        const body = JSON.parse(writeJson(atOnce(written))) as Fields;
        const input = { modelId: 'm', ...(withBytes(body) as object) } as ConverseCommandInput;
        await client.send(new ConverseCommand(input));
        expect(JSON.parse(asked)).toEqual(body);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an answer of the tests’ provider', () => {
  it('is read by Amazon’s client', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (any) => {
        answer = { type: 'application/json', bytes: Buffer.from(writeAnswer(any)) };
        const { output, usage } = await client.send(new ConverseCommand({ modelId: 'm' }));
        const kinds = { text: 'text', toolUse: 'call', reasoningContent: 'thinking' } as const;
        expect(
          output?.message?.content?.map((block) => kinds[Object.keys(block)[0] as keyof typeof kinds]),
        ).toEqual(any.parts.map(({ kind }) => kind));
        expect(usage?.outputTokens).toBe(any.usage?.outputTokens);
      }),
      { numRuns: 30 },
    );
  });

  it('is read by Amazon’s client in a stream', async () => {
    await fc.assert(
      fc.asyncProperty(answers, async (any) => {
        const writer = new ConverseWriter();
        const bytes = Buffer.concat(eventsOf(any, [5]).flatMap((event) => writer.write(event)));
        answer = { type: 'application/vnd.amazon.eventstream', bytes };
        const { stream } = await client.send(new ConverseStreamCommand({ modelId: 'm' }));
        const names: string[] = [];
        let said = '';
        for await (const event of stream ?? []) {
          names.push(Object.keys(event)[0] ?? '');
          const delta = event.contentBlockDelta?.delta;
          said += delta?.text ?? delta?.toolUse?.input ?? delta?.reasoningContent?.text ?? '';
        }
        expect(names[0]).toBe('messageStart');
        expect(names.slice(-2)).toEqual(['messageStop', 'metadata']);
        expect(said).toBe(
          any.parts.map((part) => (part.kind === 'call' ? part.argumentsText : part.text)).join(''),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('is an exception for Amazon’s client', async () => {
    const bytes = exceptionFrame('throttlingException', 'Too many.');
    answer = { type: 'application/vnd.amazon.eventstream', bytes };
    await expect(client.send(new ConverseStreamCommand({ modelId: 'm' }))).rejects.toMatchObject({
      name: 'ThrottlingException',
      message: 'Too many.',
    });
  });
});
