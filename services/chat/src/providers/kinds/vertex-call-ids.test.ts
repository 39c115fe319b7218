import { describe, expect, it } from '@jest/globals';
import { Pieces } from '@gatehouse/dialects/wire/pieces';
import { maxWalkedBytes } from '../../bounds.ts';
import { withFittingIds } from './vertex-call-ids.ts';

const fitted = (text: string, model = 'gemini-2.5-flash'): string =>
  withFittingIds(new Pieces([Buffer.from(text)]), model).whole.toString();
const call = (id: string, at = 1): string => `{"functionCall":{"id":"${id}","name":"f","args":{"at":${at}}}}`;
const result = (id: string): string =>
  `{"functionResponse":{"name":"f","response":{"output":"${id}"},"id":"${id}"}}`;
const bareCall = (at = 1): string => `{"functionCall":{"name":"f","args":{"at":${at}}}}`;
const bareResult = (of: string): string => `{"functionResponse":{"name":"f","response":{"output":"${of}"}}}`;
const request = (...contents: string[]): string =>
  `{"contents":[${contents.map((parts, index) => `{"role":"${index % 2 === 0 ? 'model' : 'user'}","parts":[${parts}]}`).join(', ')}],"big":1e400}`;

describe('ids of calls at Vertex AI', () => {
  it('are left out before Gemini 3, and all other bytes stay', () => {
    const args = '{"id":9007199254740993, "a":1.0}';
    const text = request(
      `{"functionCall":{"id":"a","name":"f","args":${args}},"thoughtSignature":"x"}`,
      result('a'),
    );
    const bare = request(
      `{"functionCall":{"name":"f","args":${args}},"thoughtSignature":"x"}`,
      bareResult('a'),
    );
    expect(fitted(text)).toBe(bare);
  });

  it.each(['gemini-3.1-pro-preview', 'gemini-flash-latest', '1234567890'])('go on to %s', (model) => {
    const text = request(call('a'), result('a'));
    expect(fitted(text, model)).toBe(text);
  });

  it('decide the order of results', () => {
    const text = request(
      `${call('a', 1)},${call('b', 2)}`,
      `${result('b')},{"text":"and"},${result('a')}`,
      call('a', 3),
      result('a'),
    );
    const bare = request(
      `${bareCall(1)},${bareCall(2)}`,
      `${bareResult('a')},{"text":"and"},${bareResult('b')}`,
      bareCall(3),
      bareResult('a'),
    );
    expect(fitted(text)).toBe(bare);
  });

  it('leave results in their order where one names no call', () => {
    const text = request(`${call('a', 1)},${call('b', 2)}`, `${result('b')},${bareResult('a')}`);
    const bare = request(`${bareCall(1)},${bareCall(2)}`, `${bareResult('b')},${bareResult('a')}`);
    expect(fitted(text)).toBe(bare);
  });

  it.each<[string, string, boolean]>([
    ['a picture', 'x'.repeat(2 * maxWalkedBytes), true],
    ['a text with escapes', '\\"'.repeat(maxWalkedBytes / 4), false],
    ['many texts', Array.from({ length: maxWalkedBytes / 8 }, () => 'xxxxx').join('","'), false],
    ['white space', `x"${' '.repeat(2 * maxWalkedBytes)},"x`, false],
  ])('are left out beside %s of many bytes if it is passed at once', (_name, data, isPassed) => {
    const beside = `{"inlineData":{"mimeType":"image/png","data":["${data}"]}}`;
    const text = request(`${call('a')},${beside}`, result('a'));
    const bare = request(`${bareCall()},${beside}`, bareResult('a'));
    expect(fitted(text) === (isPassed ? bare : text)).toBe(true);
  });

  it('are found in both spellings, and in a part without its list', () => {
    const text = '{"contents":{"role":"model","parts":{"function_call":{"name":"f","id":"a"}}}}';
    expect(fitted(text)).toBe('{"contents":{"role":"model","parts":{"function_call":{"name":"f"}}}}');
  });
});
