import { listOf, type Fields } from '@gatehouse/kit/fields';
import { textOf } from '../translation/fields.ts';
import { maxDetails, maxDelayMs, maxDelayWords } from '../bounds.ts';

const unitMs = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration as Go and Protocol Buffers' JSON write it: `3.5s`, `1m2.5s`, `2h3m`. */
const duration = String.raw`(?:\d{1,9}(?:\.\d{1,9})?(?:h|ms|m|s)\s?){1,4}`;
const wholeDuration = new RegExp(`^${duration}$`);
const inWords = new RegExp(
  String.raw`\b(?:reset|retry|try again)\w{0,3}\s(?:after|in)\s(${duration})(?!\w)`,
  'i',
);

/**
 * The time after which an error says that a call may be repeated, in milliseconds: of a `RetryInfo`, of an exhausted
 * limit (https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/googleQuotaErrors.ts), or in
 * the words of its message. Undefined where it doesn't say.
 */
export function retryDelayIn({ details, message }: Fields): number | undefined {
  const known = listOf(details)
    .slice(0, maxDetails)
    .map((detail) => Object(detail) as Fields);
  const delays = [
    ...known.filter(isOfType('RetryInfo')).map(({ retryDelay }) => durationMs(retryDelay)),
    ...known.filter(isOfType('ErrorInfo')).map(({ metadata }) => limitDelayMs(Object(metadata) as Fields)),
    durationMs(inWords.exec(textOf(message).slice(0, maxDelayWords))?.[1]),
  ];
  const delay = delays.find((each) => each !== undefined);
  return delay === undefined ? undefined : Math.min(Math.round(delay), maxDelayMs);
}

function isOfType(name: string): (detail: Fields) => boolean {
  return ({ '@type': type }) => textOf(type).endsWith(`.${name}`);
}

function limitDelayMs({ quotaResetDelay: delay, quotaResetTimeStamp: time }: Fields): number | undefined {
  const known = durationMs(delay);
  const at = Date.parse(textOf(time));
  return known ?? (Number.isNaN(at) ? undefined : Math.max(0, at - Date.now()));
}

function durationMs(value: unknown): number | undefined {
  const text = textOf(value).trim();
  if (!wholeDuration.test(text)) return undefined;
  const amounts = text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g);
  return [...amounts].reduce(
    (sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs],
    0,
  );
}
