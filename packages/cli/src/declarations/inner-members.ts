import { isMembers, type Members } from './members.ts';
import type { Kind } from './kinds.ts';

/** Hidden members inside another member, beside the others while a declaration is read and compared. */

/** A declaration with its inner members beside the others. */
export function withInnerBeside({ inner }: Kind, members: Members): Members {
  const result = { ...members };
  for (const [name, outer] of Object.entries(inner)) {
    const whole = result[outer];
    if (!isMembers(whole) || !(name in whole)) continue;
    const { [name]: value, ...others } = whole;
    Object.assign(result, { [outer]: others, [name]: value });
  }
  return result;
}

/** The members for the API, with inner ones in their place. Forms that the gateway shows are left out. */
export function withInnerInside({ inner }: Kind, members: Members): Members {
  let result = members;
  for (const [name, outer] of Object.entries(inner)) {
    const { [name]: value, ...beside } = result;
    const whole = beside[outer];
    const { [name]: _, ...others } = isMembers(whole) ? whole : {};
    const next = value === undefined ? others : { ...others, [name]: value };
    result = isMembers(whole) ? { ...beside, [outer]: next } : beside;
  }
  return result;
}
