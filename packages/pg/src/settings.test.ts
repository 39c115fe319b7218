import { describe, expect, it } from '@jest/globals';
import { parseConfig } from '@gatehouse/kit/config';
import { problemsOf } from '@gatehouse/test/settings-problems';
import { z } from 'zod';
import { databaseSettings } from './settings.ts';

describe('settings of the database', () => {
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
});
