"""Where results files lie: folders and buckets."""
