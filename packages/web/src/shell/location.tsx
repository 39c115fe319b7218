import { createContext, type ComponentChildren } from 'preact';
import { useContext, useEffect, useMemo, useState } from 'preact/hooks';

/** The view in the address. Every view is a URL: state worth a link is in its query. */
export interface View {
  path: string;
  query: URLSearchParams;
  /** Goes to another view. With `replace`, going back skips this one. */
  go: (url: string, options?: { replace: boolean }) => void;
}

const ViewContext = createContext<View | null>(null);

/** Follows the address of the browser, and the links of the page to its own views. */
export function ViewProvider({ children }: { children: ComponentChildren }) {
  const [url, setUrl] = useState(() => location.pathname + location.search);
  useEffect(() => {
    const follow = (): void => setUrl(location.pathname + location.search);
    const click = (event: MouseEvent): void => {
      const target = ownTarget(event);
      if (target === null) return;
      event.preventDefault();
      history.pushState(null, '', target);
      follow();
    };
    addEventListener('popstate', follow);
    document.addEventListener('click', click);
    return () => {
      removeEventListener('popstate', follow);
      document.removeEventListener('click', click);
    };
  }, []);
  const view = useMemo(() => {
    const { pathname, searchParams } = new URL(url, location.origin);
    const go: View['go'] = (next, { replace } = { replace: false }) => {
      if (replace) history.replaceState(null, '', next);
      else history.pushState(null, '', next);
      setUrl(next);
    };
    return { path: pathname, query: searchParams, go };
  }, [url]);
  return <ViewContext.Provider value={view}>{children}</ViewContext.Provider>;
}

/** The target of a plain click on a link to a view; null for everything handled by the browser itself. */
function ownTarget(event: MouseEvent): string | null {
  if (event.defaultPrevented || event.button !== 0) return null;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return null;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.hasAttribute('download') || link.target !== '') return null;
  if (link.origin !== location.origin || !link.pathname.startsWith('/app/')) return null;
  return link.pathname + link.search;
}

export function useView(): View {
  const view = useContext(ViewContext);
  if (view === null) throw new Error('useView is called outside of ViewProvider');
  return view;
}

/** A parameter of the view's query; empty without one. Setting it starts the list of the view over. */
export function useParameter(name: string): [value: string, set: (value: string) => void] {
  const { path, query, go } = useView();
  const set = (value: string): void => go(urlWith(path, query, { [name]: value, cursor: '' }));
  return [query.get(name) ?? '', set];
}

/** The view with other values of parameters; an empty value removes one. */
export function urlWith(path: string, query: URLSearchParams, changes: Record<string, string>): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name);
    else next.set(name, value);
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}
