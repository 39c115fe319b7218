import { useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { download } from '../api/call.ts';
import type { FileName, InputOf } from '../api/endpoints.ts';
import { knownError } from '../api/use-answer.ts';
import { Problem } from './problem.tsx';
import { saveFile } from './save-file.ts';

interface CostExportProps {
  label: string;
  /** The endpoint. Default: the costs of the tenant. */
  name?: FileName;
  query: NonNullable<InputOf<FileName>['query']>;
}

/** Saves an export of the API, once all of it has come. */
export function CostExport({ label, name = 'GET /v1/costs/export', query }: CostExportProps) {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (): Promise<void> => {
    setRunning(true);
    try {
      const file = await download(name, { query });
      saveFile(file.content, file.name);
      setError(null);
    } catch (problem) {
      setError(knownError(problem));
    } finally {
      setRunning(false);
    }
  };
  return (
    <>
      <button type="button" disabled={isRunning} aria-busy={isRunning} onClick={() => void save()}>
        {label}
      </button>
      <Problem error={error} />
    </>
  );
}
