import { useEffect, useRef, useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import type { CsvName, InputOf } from '../api/endpoint-types.ts';
import { listAsCsv } from '../api/list-csv.ts';
import { knownError } from '../api/use-answer.ts';
import { count } from '../format/amounts.ts';
import { Problem } from './problem.tsx';
import { saveFile } from './save-file.ts';

interface ListExportProps<Name extends CsvName> {
  name: Name;
  /** Parameters of the path, and filters. */
  input: InputOf<Name>;
  /** The caption of the table, for people who hear the page. */
  caption: string;
}

/** Saves all pages of a list as the API has them in CSV, with the filters of the view. */
export function ListExport<Name extends CsvName>({ name, input, caption }: ListExportProps<Name>) {
  const [progress, setProgress] = useState('');
  const [error, setError] = useState<ApiError | null>(null);
  const running = useRef<AbortController | null>(null);
  const [isRunning, setRunning] = useState(false);
  const stop = (): void => running.current?.abort();
  const key = JSON.stringify(input);
  useEffect(() => {
    setProgress('');
    setError(null);
    return stop;
    // `key` stands for the input, which is another object with each render.
  }, [name, key]);
  const save = async (): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    setRunning(true);
    setError(null);
    setProgress('Reading the first rows…');
    try {
      const file = await listAsCsv(name, input, {
        signal: controller.signal,
        onRows: (rows) => setProgress(`${count(rows)} rows so far…`),
      });
      saveFile(file.content, file.name);
      setProgress(
        file.hasMore
          ? `The file has the first ${count(file.rows)} rows, and there are more. Choose filters, or use the command line.`
          : `The file has ${count(file.rows)} ${file.rows === 1 ? 'row' : 'rows'}.`,
      );
    } catch (problem) {
      setProgress('');
      if (!controller.signal.aborted) setError(knownError(problem));
    } finally {
      setRunning(false);
    }
  };
  return (
    <div class="actions">
      <button
        type="button"
        aria-label={`Save as CSV: ${caption}`}
        aria-busy={isRunning}
        disabled={isRunning}
        onClick={() => void save()}
      >
        Save as CSV
      </button>
      {isRunning ? (
        <button type="button" onClick={stop}>
          Stop
        </button>
      ) : null}
      <span role="status">{progress}</span>
      <Problem error={error} />
    </div>
  );
}
