import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  addresses,
  commonSettings,
  ConfigError,
  databaseSettings,
  milliseconds,
  parseConfig,
  port,
} from './config.ts';

const keys = { ASSERTION_PRIVATE_KEY: 'private', ASSERTION_PUBLIC_KEYS: 'public' };

function problemsOf(shape: z.ZodType, environment: Record<string, string>): string[] {
  try {
    parseConfig(shape, environment);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').slice(1);
  }
}

describe('settings', () => {
  it('are reported wrong all at once, each by its name', () => {
    const shape = z.object({ ...commonSettings, ...databaseSettings });
    const problems = problemsOf(shape, { HTTP_PORT: '70000', LOG_LEVEL: 'loud', DATABASE_URL: 'mysql://x' });
    expect(problems.map((line) => line.trim().split(':')[0])).toEqual(
      expect.arrayContaining([
        'HTTP_PORT',
        'LOG_LEVEL',
        'DATABASE_URL',
        'ASSERTION_PRIVATE_KEY',
        'ASSERTION_PUBLIC_KEYS',
      ]),
    );
    expect(problems).toHaveLength(5);
  });

  it('never repeat a value in what they report: it may be a secret', () => {
    const problems = problemsOf(z.object(databaseSettings), { DATABASE_URL: 'x://user:hunter2@host/db' });
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain('hunter2');
  });

  it.each(['pa/ss', '12/ss', 'pa#ss', '12#ss', 'pa?ss', '12?ss', '100%'])(
    'want a password like %s escaped in a URL',
    (password) => {
      const shape = z.object(databaseSettings);
      const problems = problemsOf(shape, { DATABASE_URL: `postgres://owner:${password}@db/gatehouse` });
      expect(problems).toEqual([expect.stringContaining('DATABASE_URL: is not a URL; escape its password')]);
      expect(problems.join()).not.toContain(password);
      const escaped = `postgresql://o%40x:${encodeURIComponent(password)}@db:5432/gatehouse?sslmode=require`;
      expect(parseConfig(shape, { DATABASE_URL: escaped })).toMatchObject({ DATABASE_URL: escaped });
    },
  );

  it('are frozen, and keep nothing of the environment that was not asked for', () => {
    const config = parseConfig(z.object(commonSettings), { ...keys, SECRET_OF_ANOTHER: 'x' });
    expect(Object.isFrozen(config)).toBe(true);
    expect(() => Object.assign(config, { HTTP_PORT: 1 })).toThrow(TypeError);
    expect(config).not.toHaveProperty('SECRET_OF_ANOTHER');
  });

  it('have safe defaults, which an empty variable leaves in place', () => {
    const config = parseConfig(z.object(commonSettings), {
      ...keys,
      HTTP_PORT: '',
      LOG_LEVEL: '',
      DRAIN_TIMEOUT_MS: ' ',
    });
    expect(config).toMatchObject({
      HTTP_PORT: 8080,
      ADMIN_PORT: 9090,
      LOG_LEVEL: 'info',
      DRAIN_TIMEOUT_MS: 30_000,
    });
    expect(problemsOf(z.object(commonSettings), { ...keys, ASSERTION_PRIVATE_KEY: '' })).toHaveLength(1);
  });

  it.each<[string, z.ZodType, [string, unknown][], string[]]>([
    [
      'a port',
      port,
      [
        ['0', 0],
        ['65535', 65_535],
      ],
      ['-1', '65536', '80.5', 'http', '80 81'],
    ],
    [
      'milliseconds',
      milliseconds,
      [
        ['0', 0],
        ['1500', 1_500],
      ],
      ['-1', '1.5', '5s', 'Infinity'],
    ],
    [
      'addresses',
      addresses,
      [
        ['a:1', ['a:1']],
        [' a:1 , b:2 ', ['a:1', 'b:2']],
        ['a:1,', ['a:1']],
        ['dns:///chat:9000', ['dns:///chat:9000']],
      ],
      [',', ' , '],
    ],
  ])('read %s', (_name, shape, good, bad) => {
    for (const [text, value] of good)
      expect(parseConfig(z.object({ X: shape }), { X: text })).toEqual({ X: value });
    for (const text of bad)
      expect([text, problemsOf(z.object({ X: shape }), { X: text })]).toEqual([
        text,
        [expect.stringContaining('X')],
      ]);
  });
});
