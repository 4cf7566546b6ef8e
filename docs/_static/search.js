// A browser refuses to fetch pages of a site that is opened as files: results without excerpts.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
