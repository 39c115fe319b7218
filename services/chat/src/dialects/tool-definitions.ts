import type { SampleBuilder } from '../usage/token-estimate.ts';

/** Models read the definitions of tools as they read messages. Beyond the sample, the others count as these do. */
export function addDefinitions(sample: SampleBuilder, definitions: readonly unknown[]): void {
  let chars = 0;
  for (const [index, definition] of definitions.entries()) {
    if (sample.isFull) {
      sample.addChars((chars / index) * (definitions.length - index));
      return;
    }
    const text = JSON.stringify(definition);
    sample.add(text);
    chars += text.length;
  }
}
