import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { LogStream } from './log-stream.ts';

async function printed(chunks: readonly (string | Buffer)[], isTerminal = true): Promise<string[]> {
  const written: string[] = [];
  const out = new PassThrough().on('data', (text: Buffer) => written.push(text.toString()));
  const output = new PassThrough();
  new LogStream(out, { nameWidth: 4, colour: false, isTerminal }).follow('chat', output);
  for (const chunk of chunks) {
    output.write(chunk);
    await new Promise(setImmediate);
  }
  output.end();
  await finished(output);
  await new Promise(setImmediate);
  return written;
}

describe('what processes print', () => {
  it('is written at once for all lines that arrive together', async () => {
    expect(await printed(['one\ntwo\r\n\n', 'three\n'])).toEqual([
      'chat       one\nchat       two\n',
      'chat       three\n',
    ]);
  });

  it('is put together from pieces, also within a character, and to the last line without an end', async () => {
    const text = Buffer.from('grün\nrest');
    expect(await printed([text.subarray(0, 3), text.subarray(3)])).toEqual([
      'chat       grün\n',
      'chat       rest\n',
    ]);
  });

  it('is passed on before the end of a line that is too long to keep', async () => {
    const half = 'x'.repeat(600_000);
    const [first = '', second] = await printed([half, half, 'end\n']);
    expect(first).toHaveLength('chat       '.length + 1_200_000 + 1);
    expect(second).toBe('chat       end\n');
  });

  it('passes as it is, by whole lines, unless it goes to a terminal', async () => {
    const line = '{"level":"info","msg":"request","status":200}\n';
    const text = Buffer.from(`${line}${line}grün`);
    expect(await printed([text.subarray(0, -2), text.subarray(-2), '\n', 'rest'], false)).toEqual([
      `${line}${line}`,
      'grün\n',
      'rest\n',
    ]);
  });
});
