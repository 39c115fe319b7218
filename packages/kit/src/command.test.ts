import { describe, expect, it } from '@jest/globals';
import { errorText } from './command.ts';
import { ConfigError } from './config.ts';

describe('what a command prints of an error', () => {
  it('is where it failed and what caused that, and no other field', () => {
    const url = 'postgres://owner:pa/ss@h/db';
    let cause: unknown;
    try {
      new URL(url);
    } catch (error) {
      cause = error;
    }
    expect(cause).toMatchObject({ input: url });
    const text = errorText(new Error('no settings', { cause }));
    expect(text).toMatch(/^Error: no settings\n +at [^]*\nCaused by: TypeError: Invalid URL\n +at /);
    expect(text).not.toContain('pa/ss');
  });

  it('is the message alone where settings are wrong, and the value that was thrown where that is no error', () => {
    expect(errorText(new ConfigError('Settings are wrong'))).toBe('Settings are wrong');
    expect([errorText('text'), errorText(undefined), errorText(null)]).toEqual(['text', 'undefined', 'null']);
  });
});
