import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';

/** The parsed body of an error, which Google has in a list where a stream was requested, and the error in it. */
export function errorIn(body: unknown): { whole: Fields; error: Fields } {
  const first = listOf(body)[0] ?? body;
  const whole = isFields(first) ? first : {};
  return { whole, error: isFields(whole['error']) ? whole['error'] : whole };
}

/** The name of an exception of AWS, which may have a namespace before it and an address behind it. */
export function awsException(whole: Fields, headers: Fields): string {
  const type = headers['x-amzn-errortype'] ?? whole['__type'];
  if (typeof type !== 'string') return '';
  return type.slice(0, 200).split(':', 1)[0]?.split('#').at(-1) ?? '';
}
