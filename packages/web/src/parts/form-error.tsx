import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { ApiError } from '../api/api-error.ts';

const FormErrorContext = createContext<ApiError | null>(null);

/** Hands the error of a form's last call to the fields in it. */
export function FormErrorProvider({
  error,
  children,
}: {
  error: ApiError | null;
  children: ComponentChildren;
}) {
  return <FormErrorContext.Provider value={error}>{children}</FormErrorContext.Provider>;
}

/** The message about a field of the API, or about a member of it; null without one. */
export function useFieldError(param: string | undefined): string | null {
  const error = useContext(FormErrorContext);
  if (error === null || error.param === null || param === undefined) return null;
  const { param: named, message } = error;
  const isAbout = named === param || named.startsWith(`${param}.`) || named.startsWith(`${param}[`);
  return isAbout ? message : null;
}
