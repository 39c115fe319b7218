import { z } from 'zod';
import { KeyRing } from './key-ring.ts';

/** Settings of a service with sealed secrets. */
export const secretsSettings = {
  SECRETS_KEYRING: z.string().transform((text, context) => {
    try {
      return KeyRing.parse(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: (error as Error).message });
      return z.NEVER;
    }
  }),
};
