import { csvOf } from '@gatehouse/kit/csv';
import { saveFile } from './save-file.ts';

interface CsvLinkProps {
  file: string;
  header: readonly string[];
  rows: readonly (readonly string[])[];
}

/** Saves a table with the figures as the API returned them. */
export function CsvLink({ file, header, rows }: CsvLinkProps) {
  const save = (): void => saveFile(new Blob([csvOf(header, rows)], { type: 'text/csv' }), file);
  return (
    <button type="button" onClick={save}>
      Save as CSV
    </button>
  );
}
