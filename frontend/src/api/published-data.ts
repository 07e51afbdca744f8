/** Where the data of the pages lie: at a server, or in published files. */

/** The directory of the data of published pages; undefined where a server answers. */
export const PUBLISHED: string | undefined =
  typeof document === "undefined"
    ? undefined
    : document.querySelector<HTMLMetaElement>("meta[name=knickpoint-published]")?.content;
