import { useId } from 'preact/hooks';
import { useParameter } from '../shell/location.tsx';
import { Hint } from './fields.tsx';

interface FilterFieldProps {
  label: string;
  /** The parameter of the view, and of the API. */
  name: string;
  hint?: string;
}

/** A filter of a list as text. It applies when the person leaves the field or presses Enter. */
export function FilterField({ label, name, hint }: FilterFieldProps) {
  const [value, set] = useParameter(name);
  const id = useId();
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={value}
        maxLength={255}
        autocomplete="off"
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={({ currentTarget }) => set(currentTarget.value.trim())}
      />
      <Hint id={id} hint={hint} />
    </p>
  );
}
