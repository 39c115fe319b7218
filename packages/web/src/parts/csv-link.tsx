import { csvOf, type Cell } from '@gatehouse/kit/csv';
import { saveFile } from './save-file.ts';

interface CsvLinkProps {
  file: string;
  /** The caption of the table, for people who hear a page with several. */
  subject?: string;
  header: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** Saves a table with the figures as the API returned them. */
export function CsvLink({ file, subject: subject, header, rows }: CsvLinkProps) {
  const save = (): void => saveFile(new Blob([csvOf(header, rows)], { type: 'text/csv' }), file);
  return (
    <button type="button" aria-label={subject && `Save as CSV: ${subject}`} onClick={save}>
      Save as CSV
    </button>
  );
}
