import { parserProblem } from '@gatehouse/kit/parser-problem';
import { parse } from 'yaml';
import { CatalogueError, interpolate, readDocument, type CatalogueDocument } from './catalogue.ts';

/** The text of a catalogue, the name of its file, and the variables that fill it. */
export interface CatalogueText {
  file: string;
  text: string;
  environment: Readonly<Record<string, string | undefined>>;
}

/** Reads the YAML of a catalogue. Throws one error that names the file and every problem. */
export function documentIn({ file, text, environment }: CatalogueText): CatalogueDocument {
  const filled = interpolate(text, environment);
  return readDocument(parsedYaml(file, filled));
}

function parsedYaml(file: string, text: string): unknown {
  try {
    return parse(text);
  } catch (error) {
    throw new CatalogueError([`${file} is not valid YAML: ${parserProblem(error)}`]);
  }
}
