import { csvOf } from '@gatehouse/kit/csv';

interface CsvLinkProps {
  file: string;
  header: readonly string[];
  rows: readonly (readonly string[])[];
}

/** Saves a table with the figures as the API returned them. */
export function CsvLink({ file, header, rows }: CsvLinkProps) {
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([csvOf(header, rows)], { type: 'text/csv' }));
    const link = Object.assign(document.createElement('a'), { href: url, download: file });
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <button type="button" onClick={save}>
      Save as CSV
    </button>
  );
}
