/** The colours of the pages: those of the system, or the choice of the person. */
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const storageKey = 'gatehouse.theme';

/** The event of the window after a change of the theme, for pictures with colours of their own. */
export const themeChange = 'gatehouse-theme';

/** The stored choice. A browser without storage follows the system. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(storageKey);
    return themes.find((theme) => theme === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Applies a theme to the document, and stores it for the next visit. */
export function chooseTheme(theme: Theme): void {
  try {
    localStorage.setItem(storageKey, theme);
  } catch {
    // The choice ends with the document.
  }
  applyTheme(theme);
  dispatchEvent(new Event(themeChange));
}

/** Applies a theme to the document. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}
