import { z } from 'zod';

/** A password with a bare `/`, `?` or `#` ends the host's part: what is left is no URL, or has an `@` too late. */
function isWhole(url: string): boolean {
  return URL.canParse(url) && !/^[^:]*:\/\/[^/?#]*[/?#].*@/.test(url) && !/%(?![\da-f]{2})/i.test(url);
}

export const databaseSettings = {
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
    .refine(isWhole, 'is not a URL; escape its password (%2F for /, %23 for #, %3F for ?, %25 for %)'),
  DATABASE_POOL: z.coerce.number().int().min(1).max(200).default(10),
};
