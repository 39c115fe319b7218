import type { Fault } from './faults.ts';
import { documentFor } from './json-document.ts';
import { firstCharacters, splitEvenly, splitIntoWords } from './values.ts';
import type { JsonObject } from './values.ts';

const echoLimit = 2000;

/** The parts of a conversation that the text of an answer repeats. */
export interface Echoed {
  lastUserText: string | null;
  /** Texts of the tool results at the end of the conversation. */
  toolAnswers: string[];
}

/** The text of an answer in the pieces of a stream: as the fault says, else `text` in words. */
export function textPieces(fault: Fault, text: () => string): string[] {
  if (fault.huge_chunk_bytes !== undefined) {
    return fault.huge_chunk_bytes === 0 ? [] : ['x'.repeat(fault.huge_chunk_bytes)];
  }
  if (fault.content !== undefined) {
    return fault.chunks === undefined
      ? splitIntoWords(fault.content)
      : splitEvenly(fault.content, fault.chunks);
  }
  if (fault.chunks !== undefined) return numberedWords('w', fault.chunks);
  return splitIntoWords(text());
}

/** As many words as asked for, each with its number. */
export function numberedWords(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, word) => (word === 0 ? `${letter}1` : ` ${letter}${word + 1}`));
}

/** Says that it is a simulator, and repeats the last user message and the tool results after it. */
export function echo({ lastUserText, toolAnswers }: Echoed): string {
  let text = 'This is the Gatehouse provider simulator.';
  if (lastUserText !== null) text += ` You said: ${firstCharacters(lastUserText, echoLimit)}`;
  if (toolAnswers.length > 0) {
    text += ` The tools said: ${firstCharacters(toolAnswers.join(' | '), echoLimit)}`;
  }
  return text;
}

/** A document for a schema, or one around the text; indented, so that it has words to stream like any other text. */
export function jsonText(schema: JsonObject | null, text: string): string {
  return JSON.stringify(schema === null ? { message: text } : documentFor(schema), null, 2);
}
