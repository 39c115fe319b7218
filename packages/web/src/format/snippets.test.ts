import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { snippetsOf } from './snippets.ts';

const values = { origin: 'http://127.0.0.1:1', secret: 'gwk_abc', model: 'gpt-5.1' };

describe('snippets', () => {
  it.each(Object.entries(snippetsOf(values)))('for %s have address, key and model', (_program, text) => {
    for (const value of Object.values(values)) expect(text).toContain(value);
  });

  it('for shells are read by a shell', () => {
    const { curl = '', 'Claude Code': claude = '', Codex: codex = '' } = snippetsOf(values);
    for (const text of [curl, claude, codex]) execFileSync('sh', ['-n', '-c', text]);
    const sent = execFileSync('sh', ['-c', `curl() { printf '%s\\n' "$@"; }\n${curl}`], { encoding: 'utf8' });
    expect(JSON.parse(sent.trim().split('\n').at(-1) ?? '')).toMatchObject({ model: 'gpt-5.1' });
  });
});
