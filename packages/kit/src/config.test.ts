import { describe, expect, it } from '@jest/globals';
import { problemsOf } from '@gatehouse/test/settings-problems';
import { z } from 'zod';
import { addresses, duration, milliseconds, parseConfig, port } from './config.ts';

const someSettings = { PORT: port, LEVEL: z.enum(['info', 'debug']).default('info'), KEY: z.string() };

describe('settings', () => {
  it('are reported wrong all at once, each by its name', () => {
    const problems = problemsOf(z.object(someSettings), { PORT: '70000', LEVEL: 'loud' });
    expect(problems.map((line) => line.trim().split(':')[0])).toEqual(['PORT', 'LEVEL', 'KEY']);
  });

  it('are frozen, and keep nothing of the environment that was not asked for', () => {
    const config = parseConfig(z.object(someSettings), { PORT: '1', KEY: 'k', SECRET_OF_ANOTHER: 'x' });
    expect(Object.isFrozen(config)).toBe(true);
    expect(() => Object.assign(config, { PORT: 2 })).toThrow(TypeError);
    expect(config).not.toHaveProperty('SECRET_OF_ANOTHER');
  });

  it('keep their defaults where a variable is empty or blank, and are missing without a default', () => {
    const shape = z.object(someSettings);
    expect(parseConfig(shape, { PORT: '1', LEVEL: ' ', KEY: 'k' })).toMatchObject({ LEVEL: 'info' });
    expect(problemsOf(shape, { PORT: '1', KEY: '' })).toHaveLength(1);
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
      'a duration',
      duration({ from: '15m', to: '2d' }),
      [
        ['15m', 900],
        [' 12h ', 43_200],
        ['2d', 172_800],
      ],
      ['14m', '49h', '3d', '12', 'h', '1.5h', '-1h', '12 h', '1e3m', '9999999d'],
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
