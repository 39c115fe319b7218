import { useState } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';
import { download } from '../api/call.ts';
import type { FileName, InputOf } from '../api/endpoint-types.ts';
import { knownError } from '../api/use-answer.ts';
import { Problem } from './problem.tsx';
import { saveFile } from './save-file.ts';

interface DownloadButtonProps<Name extends FileName> {
  label: string;
  /** The thing, for people who hear the page; absent where the label names it. */
  subject?: string;
  name: Name;
  input: InputOf<Name>;
  /** The name of the file. Default: as the API names it. */
  file?: string;
}

/** Saves a file of the API, once all of it has come. */
export function DownloadButton<Name extends FileName>(props: DownloadButtonProps<Name>) {
  const { label, subject, name, input, file } = props;
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const save = async (): Promise<void> => {
    setRunning(true);
    try {
      const saved = await download(name, input);
      saveFile(saved.content, file ?? saved.name);
      setError(null);
    } catch (problem) {
      setError(knownError(problem));
    } finally {
      setRunning(false);
    }
  };
  return (
    <>
      <button
        type="button"
        aria-label={subject === undefined ? undefined : `${label} ${subject}`}
        disabled={isRunning}
        aria-busy={isRunning}
        onClick={() => void save()}
      >
        {label}
      </button>
      <Problem error={error} />
    </>
  );
}
